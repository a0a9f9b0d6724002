"""The panel as a person uses it in JupyterLab: by what its controls are called.

Knows the names on the panel, for the browser tests and the pictures; must not know how it is made. Controls are found
by role and name only, so a control without a name fails here as it would for a screen reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from lab import Notebook

# How strongly red, green and blue must differ for a pixel to be part of a line, not of the grid or a letter.
_INK = """canvas => {
  const { width, height } = canvas;
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
  const columns = new Set();
  for (let i = 0; i < data.length; i += 4) {
    const [r, g, b, a] = data.slice(i, i + 4);
    if (a > 128 && Math.max(r, g, b) - Math.min(r, g, b) > 60) columns.add((i / 4) % width);
  }
  return columns.size;
}"""


class PanelPage:
    """The panel below one cell."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.page: Page = notebook.page
        notebook.run(notebook.find("%load_ext rocmtx"))
        self.position = notebook.find_exact("%rocm")
        cell = notebook.run(self.position)
        self.root: Locator = cell.locator(".rocmtx-panel")
        self.root.get_by_role("button", name="Load", exact=True).wait_for(timeout=30_000)

    def tab(self, name: str) -> None:
        """Show one of the three forms."""
        self.root.get_by_role("tab", name=name, exact=True).click()

    def click(self, name: str) -> None:
        """Click a button; its icon is part of its name."""
        self.root.get_by_role("button", name=re.compile(rf"^\W*{name}$")).click()

    def fill(self, name: str, value: str) -> None:
        """Fill in a field and leave it, as Tab would."""
        field = self.root.get_by_label(re.compile(f"^{name}")).and_(self.root.locator("input, textarea")).first
        field.fill(value)
        field.blur()

    def load(self) -> None:
        """Load the model that is named in the form; does not wait."""
        self.tab("Load")
        self.click("Load")

    def generate(self, prompt: str, tokens: int) -> None:
        """Ask something; does not wait."""
        self.tab("Generate")
        self.fill("Prompt", prompt)
        self.fill("New tokens at most", str(tokens))
        self.click("Generate")

    def train(self, steps: int) -> None:
        """Train on the examples in the form; does not wait."""
        self.tab("Train")
        self.fill("Steps", str(steps))
        self.click("Train")

    @property
    def status(self) -> Locator:
        """The line that says what the session is doing."""
        return self.root.get_by_role("status")

    @property
    def error(self) -> Locator:
        """The box with what went wrong."""
        return self.root.get_by_role("alert")

    @property
    def answer(self) -> Locator:
        """The streamed answer."""
        return self.root.get_by_role("region", name="Answer").locator(".rocmtx-answer")

    def section(self, name: str) -> Locator:
        """Return one of the live parts: Answer, Loss or Memory."""
        return self.root.get_by_role("region", name=name)

    def await_status(self, text: str, seconds: float) -> None:
        """Wait until the status line begins with a text."""
        self.status.filter(has_text=re.compile(f"^{text}")).wait_for(timeout=seconds * 1000)

    def await_text(self, place: Locator, pattern: str, seconds: float) -> str:
        """Wait until a part of the panel shows a text, and return all that it shows."""
        place.filter(has_text=re.compile(pattern)).wait_for(timeout=seconds * 1000)
        return place.inner_text()

    def inked_columns(self, name: str) -> int:
        """Return in how many columns of pixels a chart has a coloured line; 0 where nothing is drawn."""
        canvas = self.section(name).locator("canvas")
        return int(canvas.evaluate(_INK)) if canvas.count() else 0
