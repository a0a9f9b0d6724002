"""Find a Chromium for the browser tests, or get one.

Knows where browsers lie and three ways to install one; standard library only, playwright is called as a program.
Prints the path of the browser that will be used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
OVERRIDE = "ROCMTX_TEST_BROWSER"
OWN = (
    "from playwright.sync_api import sync_playwright\n"
    "with sync_playwright() as player: print(player.chromium.executable_path)"
)


def starts(path: str) -> bool:
    """Tell whether a browser really starts: Ubuntu's `chromium-browser` may be a script that only asks for snap."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find(
    names: Iterable[str] = NAMES,
    *,
    override: str | None = None,
    which: Callable[[str], str | None] = shutil.which,
    works: Callable[[str], bool] = starts,
) -> str | None:
    """Return the path of a browser that starts: the one named in the environment, the system's, or playwright's."""
    override = os.environ.get(OVERRIDE, "") if override is None else override
    candidates = [override] if override else [path for name in names if (path := which(name))]
    if not override:
        candidates += [path for path in (own_browser(),) if path]
    return next((path for path in candidates if works(path)), None)


def own_browser() -> str:
    """Return where playwright keeps a Chromium of its own, or an empty text; it need not be there."""
    answer = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def fetch() -> None:
    """Install a Chromium: with apt when that is allowed without a password, else playwright's own."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], env=quiet, check=False)
        done = subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], env=quiet, check=False)
        if done.returncode == 0 and find():
            return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


def main() -> int:
    """Print the browser's path; returns 1 when there is none and none can be had."""
    path = find()
    if path is None:
        print("no Chromium found; getting one", flush=True)
        fetch()
        path = find()
    if path is None:
        print(
            "the browser tests need Chromium, and none can be installed here\n"
            f"  → install one (sudo apt install chromium), name one with {OVERRIDE}=/path/to/chrome, "
            "or run `make unit`, which needs none",
            file=sys.stderr,
        )
        return 1
    print(f"browser: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
