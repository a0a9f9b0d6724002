"""Turn an executed notebook into one HTML file that opens offline, and prove it.

Knows notebooks and HTML; must not know rocmtx. Widgets give way to the text, HTML or picture that their cell shows as
well: drawing them needs a script from a content network, and a page that asks for one is refused.
"""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

WIDGET = "application/vnd.jupyter.widget-view+json"
_FETCHED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "base": ("href",),
}
_IN_STYLE = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])((?:https?:)?//[^'")\s]+)""")
_IN_SCRIPT = re.compile(r"""(?:\bimport\s*\(?\s*|\bfrom\s+|\bfetch\(\s*|\.src\s*=\s*)['"`]((?:https?:)?//[^'"`]+)""")


class PageError(Exception):
    """The page would ask the network for something."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        for name, value in attrs:
            if name in _FETCHED.get(tag, ()) and re.match(r"(?:https?:)?//", value or ""):
                self.found.append(f"<{tag} {name}> {value}")
            if name == "style":
                self.found += [f"<{tag} style> {address}" for address in _IN_STYLE.findall(value or "")]

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._inside = ""

    def handle_data(self, data: str) -> None:
        pattern = {"style": _IN_STYLE, "script": _IN_SCRIPT}.get(self._inside)
        if pattern:
            self.found += [f"<{self._inside}> {address}" for address in pattern.findall(data)]


def external_requests(html: str) -> list[str]:
    """Return what a browser would fetch from elsewhere when it opens this page; links to click do not count."""
    reader = _Reader()
    reader.feed(html)
    return reader.found


def without_widgets(notebook: Any) -> Any:
    """Return a copy of a notebook in which a cell's widget gives way to the text, HTML or picture beside it."""
    notebook = copy.deepcopy(notebook)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(WIDGET, None)
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("data", True)]
    return notebook


def write_page(notebook: Any, path: Path, title: str) -> int:
    """Write the page and return its size in bytes; raises PageError when it would ask the network for something."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="lab",
        require_js_url="",
        mathjax_url="",
        jquery_url="",
        widget_renderer_url="",
        mermaid_js_url="",
        mermaid_layout_elk_js_url="",
    )
    html, _ = exporter.from_notebook_node(without_widgets(notebook), {"metadata": {"name": title}})
    # These two tags are written even when their address is empty.
    html = re.sub(r'<script src="">\s*</script>\s*', "", html)
    if wanted := external_requests(html):
        raise PageError("the page is not self-contained: " + "; ".join(wanted[:5]))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(html.encode())
