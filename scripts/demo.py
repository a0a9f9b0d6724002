"""Run the quickstart notebook from top to bottom and say what came out: `make demo`.

Knows notebooks, the terminal and the journal that a session leaves behind; must not know how a model is loaded or run.
The kernel gets folders of its own, so that nobody's Jupyter settings or running sessions are touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from page import PageError, write_page
from rocmtx.errors import RocmtxError
from rocmtx.journal import read_journal
from summary import summarize, summary_lines

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "notebooks" / "01_quickstart.ipynb"
BUILD = ROOT / "build"
CELL_SECONDS = 600
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class DemoError(Exception):
    """The notebook could not be run to its end; the text says why."""


class Runner(NotebookClient):
    """A notebook client that tells the terminal which cell runs, what it shows last, and how long it took."""

    live = sys.stdout.isatty()

    def attach(self) -> None:
        """Count the cells with code, and listen to their beginning and end."""
        self.codes = [index for index, cell in enumerate(self.nb.cells) if cell.cell_type == "code"]
        self.on_cell_execute = self._begin
        self.on_cell_executed = self._end
        self.start = 0.0

    def _begin(self, cell: Any, cell_index: int) -> None:
        self.start = time.monotonic()
        line, *_ = cell.source.splitlines()
        number = self.codes.index(cell_index) + 1
        self.title = f"[{number:>2}/{len(self.codes)}] {line[:72]}"
        print(f"{self.title} … ", end="", flush=True)

    def _end(self, cell: Any, cell_index: int, execute_reply: Any) -> None:
        del cell, cell_index
        failed = execute_reply["content"]["status"] == "error"
        clear = f"\r\x1b[K{self.title} … " if self.live else ""
        print(f"{clear}{'failed after ' * failed}{time.monotonic() - self.start:.1f} s", flush=True)

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """Show the last line of what the cell shows while it runs."""
        content = msg["content"]
        text = content.get("text") or (content.get("data") or {}).get("text/plain") or ""
        lines = _ESCAPES.sub("", text).strip().splitlines()
        if self.live and lines and msg["msg_type"] in {"stream", "display_data", "update_display_data"}:
            room = shutil.get_terminal_size().columns - len(self.title) - 4
            print(f"\r\x1b[K{self.title} … {lines[-1][: max(room, 0)]}", end="", flush=True)
        return super().process_message(msg, cell, cell_index)


def failure(error: CellExecutionError) -> str:
    """Write why a cell failed: rocmtx's own errors as message and hint, any other with its traceback."""
    if error.ename in RocmtxError.kinds:
        return f"{error.ename}: {error.evalue}"
    return _ESCAPES.sub("", error.traceback).strip()


def prepare(home: Path) -> None:
    """Give the kernel its own Jupyter and IPython folders below `home`, and no network for what is local."""
    for name in ("CONFIG", "DATA", "RUNTIME"):
        folder = home / name.lower()
        folder.mkdir(mode=0o700)
        os.environ[f"JUPYTER_{name}_DIR"] = str(folder)
    os.environ["IPYTHONDIR"] = str(home / "ipython")
    # The kernel must be the one of this environment, wherever it was started from.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


def execute(notebook: Any, folder: Path, log: Path) -> None:
    """Execute every cell; raises CellExecutionError at the first that fails, DeadKernelError when the kernel dies."""
    runner = Runner(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    runner.attach()
    with log.open("wb") as said:  # what the kernel itself says, to nobody's question
        runner.execute(stderr=said)


def closing(home: Path, copy: Path) -> list[str]:
    """Write the summary of the session that the notebook ran, and keep its journal."""
    journals = sorted((home / "runtime" / "rocmtx").glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    if not journals:
        return ["  the notebook ran no session"]
    shutil.copy(journals[-1], copy)
    events, _ = read_journal(journals[-1])
    return summary_lines(summarize(events))


def devices() -> str:
    """Return what `rocmtx devices` prints, indented."""
    command = [sys.executable, "-m", "rocmtx", "devices"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "\n".join(f"  {line}".rstrip() for line in shown.strip().splitlines())


def run(path: Path) -> None:
    """Execute a notebook, write its page, and print what came out."""
    name = re.sub(r"^\d+_", "", path.stem)
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    log, page = BUILD / f"{name}.log", BUILD / f"{name}.html"
    with tempfile.TemporaryDirectory(prefix="rtx-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        prepare(home)
        BUILD.mkdir(exist_ok=True)
        try:
            execute(notebook, path.absolute().parent, log)
        except DeadKernelError:
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
            said = "".join(f"\n  {line}" for line in last)
            hint = f"\n  → is there enough memory? 3 GB are needed; more in {log}"
            raise DemoError(f"the notebook's kernel died{said}{hint}") from None
        size = write_page(notebook, page, f"rocmtx {name}")
        print("\ndevices\n" + devices())
        print("\nsession\n" + "\n".join(closing(home, BUILD / f"{name}.jsonl")))
    print(f"\npage           {page} ({size / 1e6:.1f} MB, opens offline)")


def main(arguments: list[str]) -> int:
    """Run the quickstart, or another notebook; returns 0 when every cell ran and the page opens offline, else 1."""
    start = time.monotonic()
    path = Path(arguments[0]) if arguments else NOTEBOOK
    print(f"running {os.path.relpath(path)}", flush=True)
    try:
        run(path)
    except CellExecutionError as error:
        print(f"\nthe notebook failed: {failure(error)}", file=sys.stderr)
        return 1
    except (DemoError, PageError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    print(f"done in {time.monotonic() - start:.0f} s; the same with buttons: make lab")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
