"""A real JupyterLab with a real browser on it, for the browser tests and the pictures in the README.

Knows how to start both, and how a person uses a notebook; must not know what rocmtx shows. The server gets folders of
its own and the front end of this checkout; the browser may talk to this server only, and what else it tries is noted.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from chromium import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, Response, Route

ROOT = Path(__file__).resolve().parent.parent
TOKEN = "test"  # noqa: S105 - this server listens on the loopback only
START_SECONDS = 60.0
_BROWSER_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--font-render-hinting=none",
)
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # Else cells outside the window are not in the page.
    "notebook-extension/tracker": {"windowingMode": "none"},
}


class LabError(Exception):
    """JupyterLab or the browser did not start; the text holds the end of the log."""


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: where it is, and the folder whose notebooks it shows."""

    base: str
    folder: Path
    log: Path


def prepare(home: Path) -> dict[str, str]:
    """Make Jupyter's folders below `home`, with this checkout's front end; return the environment for the server."""
    folders = {name: home / name for name in ("config", "data", "run", "ipython", "settings", "spaces", "extra")}
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    for name, values in _SETTINGS.items():
        path = folders["settings"] / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    shutil.copytree(ROOT / "src" / "rocmtx" / "labextension", folders["extra"] / "labextensions" / "rocmtx")
    shutil.copytree(ROOT / "jupyter-config" / "server-config", folders["extra"] / "jupyter_server_config.d")
    return {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folders["config"]),
        "JUPYTER_CONFIG_PATH": str(folders["extra"]),
        "JUPYTER_DATA_DIR": str(folders["data"]),
        "JUPYTER_PATH": str(folders["extra"]),
        "JUPYTER_RUNTIME_DIR": str(folders["run"]),
        "IPYTHONDIR": str(folders["ipython"]),
        "JUPYTERLAB_SETTINGS_DIR": str(folders["settings"]),
        "JUPYTERLAB_WORKSPACES_DIR": str(folders["spaces"]),
        # The kernel is started as `python`: it must be this one.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }


@contextlib.contextmanager
def server(home: Path, folder: Path) -> Iterator[Server]:
    """Start JupyterLab on a free port; end it, with its kernels, at the end."""
    environment = prepare(home)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        *(f"--port={port}", "--port-retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"),
        *("--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
        *("--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True"),
    ]
    running = Server(f"http://127.0.0.1:{port}", folder, home / "lab.log")
    with running.log.open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _await_start(running, process)
        yield running
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_start(running: Server, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"{running.base}/api?token={TOKEN}", timeout=5).close()  # noqa: S310 - loopback
            return
        time.sleep(0.1)
    tail = running.log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise LabError(f"JupyterLab did not start:\n{tail}")


def end_kernels(running: Server) -> None:
    """End every kernel of a server, and with it the models that were loaded there."""
    with urllib.request.urlopen(f"{running.base}/api/kernels?token={TOKEN}", timeout=10) as answer:  # noqa: S310 - loopback
        kernels = json.load(answer)
    for kernel in kernels:
        address = f"{running.base}/api/kernels/{kernel['id']}?token={TOKEN}"
        urllib.request.urlopen(urllib.request.Request(address, method="DELETE"), timeout=60).close()  # noqa: S310 - same


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium, without a window. Raises LabError when there is none."""
    path = find()
    if path is None:
        raise LabError("no Chromium found\n  → python scripts/chromium.py gets one")
    arguments = [*_BROWSER_ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=path, args=arguments)
        yield opened
        opened.close()


@dataclass
class Watched:
    """A page and what it did: `complaints` of its console, `external` requests (refused), `broken` answers."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    external: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def watch(opened: Browser, base: str, *, width: int = 1280, height: int = 900, scale: float = 1.0) -> Watched:
    """Open an empty page that can reach only `base`, and write down what goes wrong on it."""
    context = opened.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale)
    watched = Watched(context.new_page())
    allowed = (base, base.replace("http", "ws", 1), "data:", "blob:", "file:", "about:")

    def gate(route: Route, request: Request) -> None:
        if request.url.startswith(allowed):
            route.continue_()
        else:
            watched.external.append(request.url)
            route.abort()

    def said(message: ConsoleMessage) -> None:
        # JupyterLab opens a kernel's channel twice and drops one of them; Chromium remarks on it.
        if message.type in {"error", "warning"} and "closed before the connection is established" not in message.text:
            watched.complaints.append(f"{message.type}: {message.text[:400]}")

    def answered(response: Response) -> None:
        if response.status >= 400:  # noqa: PLR2004 - HTTP
            watched.broken.append(f"{response.status} {response.url[:200]}")

    context.route("**/*", gate)
    watched.page.on("console", said)
    watched.page.on("pageerror", lambda error: watched.complaints.append(f"exception: {error}"[:400]))
    watched.page.on("response", answered)
    return watched


class Notebook:
    """A notebook in JupyterLab, used cell by cell. Application commands are never awaited: they may not return."""

    _CONTENT = "window.jupyterapp.shell.currentWidget.content"

    def __init__(self, watched: Watched, running: Server, name: str, *, theme: str = "JupyterLab Light") -> None:
        self.watched = watched
        self.page = watched.page
        self.page.goto(f"{running.base}/lab/tree/{name}?token={TOKEN}&reset")
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)
        self.page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=60_000)
        # Cells come into the page one after the other.
        cells = len(json.loads((running.folder / name).read_text(encoding="utf-8"))["cells"])
        self.page.wait_for_function(f"n => {self._CONTENT}.widgets?.length >= n", arg=cells, timeout=30_000)
        # A cell that runs before the kernel is there opens a dialog that asks for one.
        kernel = "window.jupyterapp.shell.currentWidget.context.sessionContext.session?.kernel?.status === 'idle'"
        self.page.wait_for_function(kernel, timeout=60_000)
        self.use_theme(theme)

    def use_theme(self, theme: str) -> None:
        """Switch JupyterLab to a theme, unless it has it."""
        if self.page.evaluate("document.body.dataset.jpThemeName") != theme:
            self.command("apputils:change-theme", {"theme": theme})
            self.page.wait_for_selector(f'body[data-jp-theme-name="{theme}"]', state="attached", timeout=20_000)

    def command(self, name: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Execute a command of the application, without waiting for it."""
        self.page.evaluate("([name, args]) => { window.jupyterapp.commands.execute(name, args); }", [name, arguments])

    def find(self, source: str) -> int:
        """Return the position of the first cell whose source begins with a text."""
        search = f"source => {self._CONTENT}.widgets.findIndex(c => c.model.sharedModel.source.startsWith(source))"
        position = int(self.page.evaluate(search, source))
        if position < 0:
            raise LabError(f"no cell begins with {source!r}")
        return position

    def find_exact(self, source: str) -> int:
        """Return the position of the cell whose source is a text, and nothing more."""
        search = f"source => {self._CONTENT}.widgets.findIndex(c => c.model.sharedModel.source === source)"
        return int(self.page.evaluate(search, source))

    def sources(self) -> list[str]:
        """Return the sources of all cells."""
        return list(self.page.evaluate(f"{self._CONTENT}.widgets.map(c => c.model.sharedModel.source)"))

    def run(self, position: int, *, wait: float = 60) -> Locator:
        """Run one cell, wait until it is done (not at all with 0), and return the cell in the page."""
        self.page.evaluate(
            f"at => {{ const nb = {self._CONTENT}; nb.deselectAll(); nb.activeCellIndex = at;"
            " nb.widgets[at].model.executionCount = null; window.jupyterapp.commands.execute('notebook:run-cell'); }",
            position,
        )
        if wait:
            done = f"at => {self._CONTENT}.widgets[at].model.executionCount !== null"
            self.page.wait_for_function(done, arg=position, timeout=wait * 1000)
        return self.cell(position)

    def cell(self, position: int) -> Locator:
        """Return a cell in the page."""
        return self.page.locator(".jp-NotebookPanel .jp-Cell").nth(position)

    def output(self, position: int) -> str:
        """Return the text that a cell shows below its source."""
        return self.cell(position).locator(".jp-Cell-outputWrapper").inner_text()
