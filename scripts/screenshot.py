"""Make the pictures of the panel for the README: `make screenshots`.

Knows JupyterLab, the panel's controls and where the pictures go. They are real: the demo model is loaded, asked and
trained while the browser looks on. Give a folder to write them elsewhere.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from lab import Notebook, browser, server, watch
from panel_page import PanelPage

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "images"
THEMES = {"panel.png": "JupyterLab Light", "panel-dark.png": "JupyterLab Dark"}
PROMPT = "Explain in two sentences why the sky is blue."


def use(panel: PanelPage) -> None:
    """Load, ask and train, and go back to the first form."""
    panel.load()
    panel.await_status("ready", 180)
    panel.generate(PROMPT, 80)
    panel.await_text(panel.section("Answer"), r"tokens/s", 180)
    panel.await_status("ready", 180)
    panel.train(10)
    panel.await_status("training", 60)
    panel.await_status("ready", 400)
    panel.tab("Load")


def main(arguments: list[str]) -> int:
    """Write one picture a theme; returns 1 when the page complained or asked anybody else."""
    folder = Path(arguments[0]) if arguments else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rtx-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        shutil.copytree(ROOT / "notebooks", home / "notebooks", ignore=shutil.ignore_patterns(".*"))
        with server(home, home / "notebooks") as running, browser() as opened:
            watched = watch(opened, running.base, width=1240, height=1500, scale=1.5)
            panel = PanelPage(Notebook(watched, running, "01_quickstart.ipynb"))
            use(panel)
            for picture, theme in THEMES.items():
                panel.notebook.use_theme(theme)
                watched.page.mouse.move(0, 0)
                watched.page.wait_for_timeout(500)
                panel.root.screenshot(path=folder / picture)
                print(folder / picture)
            panel.click("Unload")
            panel.await_status("ended|nothing loaded", 60)
    trouble = [*watched.external, *watched.complaints, *watched.broken]
    print(*trouble, sep="\n", file=sys.stderr, end="\n" * bool(trouble))
    return int(bool(trouble))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
