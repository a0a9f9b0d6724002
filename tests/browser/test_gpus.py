"""The side panel with GPUs and sessions in a real JupyterLab, on recorded machines and on this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lab import TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page, Route

    from lab import Server, Watched

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "src" / "rocmtx" / "facts" / "data" / "machines"
TAB = '.lm-TabBar-tab[data-id="rocmtx-gpus"]'


class Asked:
    """Answers in the server's place, and counts how often it was asked."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.times = 0

    def __call__(self, route: Route) -> None:
        """Answer a request."""
        self.times += 1
        route.fulfill(status=200, content_type="application/json", body=json.dumps(self.body))


def machine(name: str) -> Any:
    """Return the report of a recorded machine."""
    return json.loads((MACHINES / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def open_panel(lab_server: Server, watched: Watched) -> Callable[[str | None], Locator]:
    """Return the function that opens the side panel in an empty workspace; with the facts of a recorded machine."""

    def opened(name: str | None = None) -> Locator:
        page = watched.page
        if name is not None:
            page.route("**/rocmtx/facts*", Asked(machine(name)))
        page.goto(f"{lab_server.base}/lab?token={TOKEN}&reset")
        page.locator(TAB).click(timeout=60_000)
        return page.get_by_role("region", name="AMD GPUs")

    return opened


def use_theme(page: Page, theme: str) -> None:
    """Switch JupyterLab to a theme."""
    page.evaluate("theme => { window.jupyterapp.commands.execute('apputils:change-theme', { theme }); }", theme)
    page.wait_for_selector(f'body[data-jp-theme-name="{theme}"]', state="attached", timeout=20_000)


def test_eight_gpus_have_a_card_each(open_panel: Callable[[str | None], Locator], watched: Watched) -> None:
    panel = open_panel("mi300x-8")
    panel.get_by_role("meter").first.wait_for()
    gpus = panel.get_by_role("list").first.locator("> li")
    assert gpus.count() == 8
    assert [line for line in gpus.first.inner_text().splitlines() if line] == [
        "AMD Instinct MI300X",
        "gfx942 · cuda:0",
        "284.0 MiB of 192.0 GiB",
        "busy 0 % · 41 °C · 133 W of 750 W",
    ]
    assert panel.get_by_role("status").inner_text() == "Recorded machine: mi300x-8."
    assert watched.complaints == []


def test_partitions_are_folded_under_their_package(open_panel: Callable[[str | None], Locator]) -> None:
    panel = open_panel("mi300x-8-cpx")
    panel.get_by_role("meter").first.wait_for()
    assert panel.get_by_role("list").first.locator("> li").count() == 8
    assert panel.get_by_role("meter").count() == 8
    panel.locator("summary").first.click()
    assert panel.locator("details[open]").first.get_by_role("meter").count() == 8
    # It stays open when new numbers come.
    panel.page.wait_for_timeout(2500)
    assert panel.locator("details[open]").count() == 1


def test_a_gpu_that_is_refused_says_by_what(open_panel: Callable[[str | None], Locator]) -> None:
    panel = open_panel("no-permission")
    panel.get_by_role("meter").first.wait_for()
    assert "hidden: /dev/kfd cannot be opened (EACCES)" in panel.inner_text()
    assert "rocmtx doctor" in panel.get_by_role("status").inner_text()


def test_this_machine_is_asked_only_while_somebody_looks(
    open_panel: Callable[[str | None], Locator], watched: Watched
) -> None:
    page = watched.page
    asked = Asked({"sessions": []})
    page.route("**/rocmtx/sessions*", asked)
    panel = open_panel(None)
    panel.get_by_text("no model is loaded under your account").wait_for()
    page.wait_for_timeout(4500)
    assert asked.times >= 2
    page.locator(TAB).click()
    panel.wait_for(state="hidden")
    page.wait_for_timeout(500)
    before = asked.times
    page.wait_for_timeout(4500)
    assert asked.times == before
    page.locator(TAB).click()
    page.wait_for_timeout(1000)
    assert asked.times > before
    assert watched.complaints == []
    assert watched.broken == []


def test_a_server_that_lacks_its_part_is_named(open_panel: Callable[[str | None], Locator], watched: Watched) -> None:
    for path in ("facts", "sessions"):
        watched.page.route(f"**/rocmtx/{path}*", lambda route: route.fulfill(status=404, body="{}"))
    panel = open_panel(None)
    panel.get_by_role("status").get_by_text("pip install rocmtx").wait_for(timeout=10_000)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_pictures(open_panel: Callable[[str | None], Locator], watched: Watched, pictures: Path, theme: str) -> None:
    sessions = json.loads((ROOT / "tests" / "contract" / "sessions.json").read_text(encoding="utf-8"))
    watched.page.route("**/rocmtx/sessions*", Asked(sessions))
    panel = open_panel("mi300x-8-cpx")
    panel.locator("summary").first.click()
    use_theme(watched.page, theme)
    background = panel.evaluate("node => getComputedStyle(node).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)")
    shade = sum(background) / 3
    assert shade > 200 if theme.endswith("Light") else shade < 80
    panel.screenshot(path=pictures / f"gpus-{theme.rsplit(maxsplit=1)[-1].lower()}.png")
    watched.page.screenshot(path=pictures / f"gpus-lab-{theme.rsplit(maxsplit=1)[-1].lower()}.png")
