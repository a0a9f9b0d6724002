"""The extension as a person meets it: status bar, Help menu, palette, dialog, and a server that lacks its part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lab import TOKEN
from rocmtx import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page, Route

    from lab import Server, Watched

ITEM = "button.rtx-StatusItem"


@pytest.fixture
def open_lab(lab_server: Server, watched: Watched) -> Callable[[], Page]:
    """Return the function that opens JupyterLab with an empty workspace."""

    def opened() -> Page:
        watched.page.goto(f"{lab_server.base}/lab?token={TOKEN}&reset")
        watched.page.wait_for_selector(ITEM, timeout=60_000)
        return watched.page

    return opened


def wait_for_item(page: Page, text: str) -> None:
    """Wait until the status bar says exactly this."""
    page.wait_for_function("([item, text]) => document.querySelector(item)?.textContent === text", arg=[ITEM, text])


def test_status_bar_and_dialog_show_the_version(open_lab: Callable[[], Page], watched: Watched) -> None:
    page = open_lab()
    wait_for_item(page, f"rocmtx {__version__}")
    page.click(ITEM)
    dialog = page.get_by_role("dialog")
    assert dialog.locator("dd").all_inner_texts() == [__version__, f"{__version__}, the same version"]
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert watched.complaints == []
    assert watched.external == []


def test_the_help_menu_and_the_palette_open_the_dialog(open_lab: Callable[[], Page]) -> None:
    page = open_lab()
    page.get_by_role("menuitem", name="Help").click()
    page.get_by_role("menuitem", name="AMD GPUs: about rocmtx").click()
    page.get_by_role("dialog").get_by_text("About rocmtx").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    # Never awaited: a command of the application may not return.
    page.evaluate("() => { window.jupyterapp.commands.execute('apputils:activate-command-palette'); }")
    page.locator(".lm-CommandPalette-input:visible").fill("about rocmtx")
    page.locator(".lm-CommandPalette-item:visible", has_text="AMD GPUs: about rocmtx").click()
    page.get_by_role("dialog").get_by_text("About rocmtx").wait_for()


def answer_with(status: int, body: Any) -> Callable[[Route], None]:
    """Return what answers in the server's place."""
    return lambda route: route.fulfill(status=status, content_type="application/json", body=json.dumps(body))


ANSWERS: tuple[tuple[int, Any, str, str], ...] = (
    (404, {"message": "Not Found"}, "server part missing", "pip install rocmtx"),
    (200, {"version": "0.0.1"}, "server has 0.0.1", "Restart the server, then reload this page."),
    (403, {"message": "Forbidden"}, "server part refused", "Log in again."),
    (500, {"message": "Oops"}, "server part failed", "The server's log says more."),
)


def test_the_page_says_what_is_wrong_with_the_server_part(open_lab: Callable[[], Page]) -> None:
    page = open_lab()
    for status, body, says, explains in ANSWERS:
        page.route("**/rocmtx/version*", answer_with(status, body))
        page.click(ITEM)  # opening the dialog asks the server again
        wait_for_item(page, f"rocmtx {__version__} · {says}")
        assert explains in page.get_by_role("dialog").locator("dd").last.inner_text()
        assert explains in str(page.get_attribute(ITEM, "title"))
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")


def test_switching_the_plugins_off_leaves_nothing(open_lab: Callable[[], Page]) -> None:
    page = open_lab()
    page.evaluate("() => window.jupyterapp.deactivatePlugin('rocmtx:server')")
    page.wait_for_selector(ITEM, state="detached")
    assert page.evaluate("window.jupyterapp.commands.hasCommand('rocmtx:about')") is False
