"""One JupyterLab and one browser for all tests of this folder; a fresh page and notebook for each."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lab import Notebook, Server, Watched, browser, end_kernels, server, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
_OUTCOMES = pytest.StashKey[dict[str, bool]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def lab_server() -> Iterator[Server]:
    """Run JupyterLab over a copy of the notebooks."""
    with tempfile.TemporaryDirectory(prefix="rtx-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        shutil.copytree(ROOT / "notebooks", home / "notebooks", ignore=shutil.ignore_patterns(".*"))
        with server(home, home / "notebooks") as running:
            yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Run one browser."""
    with browser() as opened:
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Leave the outcome where a fixture finds it."""
    report = yield
    item.stash.setdefault(_OUTCOMES, {})[report.when] = report.failed
    return report


@pytest.fixture
def watched(request: pytest.FixtureRequest, lab_server: Server, chromium: Browser, pictures: Path) -> Iterator[Watched]:
    """Give a page that can reach this JupyterLab only; a failed test leaves a picture of it."""
    page = watch(chromium, lab_server.base)
    yield page
    if request.node.stash.get(_OUTCOMES, {}).get("call"):
        page.page.screenshot(path=pictures / f"FAILED-{request.node.name}.png")
    page.page.context.close()
    end_kernels(lab_server)


@pytest.fixture
def open_notebook(lab_server: Server, watched: Watched) -> Callable[[str], Notebook]:
    """Return the function that opens a notebook by its name."""
    return lambda name: Notebook(watched, lab_server, name)


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Return the folder for pictures that a person may look at afterwards."""
    folder = ROOT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
