"""The hub's state is known within two seconds, whatever the network does; a local load never asks."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rocmtx.decide.plan import Asks, Plan, make_plan
from rocmtx.decide.verdict import Choice
from rocmtx.errors import HubUnreachable
from rocmtx.facts.model import Checkpoint, Facts
from rocmtx.run.network import check_hub, hub_address, needs_hub, offline_asked, reachable

if TYPE_CHECKING:
    from collections.abc import Iterator

ELSEWHERE = "%rocm load demo needs no network; a local folder neither"


@pytest.fixture
def listening() -> Iterator[tuple[str, int]]:
    """Return the address of a server that accepts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()


@pytest.fixture
def refusing() -> tuple[str, int]:
    """Return a local address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address: tuple[str, int] = server.getsockname()
    return address


@pytest.fixture
def silent() -> Iterator[tuple[str, int]]:
    """Return a local address that answers nothing: its queue is full, so the kernel drops every new knock."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)  # noqa: FBT003 - the socket module's own signature
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()


def plan(source: Any = "hub", *, cached: bool | None = None, attention: str = "sdpa") -> Plan:
    """Return a plan for a model from a source, with an attention as a machine with a GPU would get it."""
    made = make_plan(Facts(), Asks("org/model"), Checkpoint("org/model", source, cached=cached))
    return replace(made, attention=Choice(attention, "asked for", asked=True))


def endpoint(address: tuple[str, int]) -> dict[str, str]:
    """Return the environment in which this address is the hub."""
    return {"HF_ENDPOINT": f"http://{address[0]}:{address[1]}"}


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({}, False),
        ({"HF_HUB_OFFLINE": "0"}, False),
        ({"HF_HUB_OFFLINE": ""}, False),
        ({"HF_HUB_OFFLINE": "no"}, False),
        ({"HF_HUB_OFFLINE": "1"}, True),
        ({"HF_HUB_OFFLINE": "true"}, True),
        ({"TRANSFORMERS_OFFLINE": "YES"}, True),
        ({"TRANSFORMERS_OFFLINE": "on"}, True),
    ],
)
def test_offline_is_read_as_the_hub_client_reads_it(environment: dict[str, str], asked: bool) -> None:
    assert offline_asked(environment) is asked


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, ("huggingface.co", 443)),
        ({"HF_ENDPOINT": ""}, ("huggingface.co", 443)),
        ({"HF_ENDPOINT": "https://hub.example"}, ("hub.example", 443)),
        ({"HF_ENDPOINT": "http://hub.example"}, ("hub.example", 80)),
        ({"HF_ENDPOINT": "http://hub.example:8080/hf"}, ("hub.example", 8080)),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, ("proxy.example", 3128)),
        ({"https_proxy": "proxy.example:3128"}, ("proxy.example", 3128)),
        ({"HTTPS_PROXY": "https://user:secret@proxy.example"}, ("proxy.example", 443)),
        ({"HTTPS_PROXY": "http://proxy.example"}, ("proxy.example", 80)),
        ({"ALL_PROXY": "socks5://proxy.example:1080"}, ("proxy.example", 1080)),
        ({"HTTP_PROXY": "http://proxy.example:3128"}, ("huggingface.co", 443)),
        ({"HTTP_PROXY": "http://proxy.example:3128", "HF_ENDPOINT": "http://hub.example"}, ("proxy.example", 3128)),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "huggingface.co"}, ("huggingface.co", 443)),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "no_proxy": "*"}, ("huggingface.co", 443)),
        ({"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "example.org"}, ("proxy.example", 3128)),
    ],
)
def test_the_address_that_is_asked_first(environment: dict[str, str], address: tuple[str, int]) -> None:
    assert hub_address(environment) == address


def test_a_server_that_accepts_is_reachable(listening: tuple[str, int]) -> None:
    assert reachable(listening)


def test_a_refusal_is_known_at_once(refusing: tuple[str, int]) -> None:
    began = time.monotonic()
    assert not reachable(refusing)
    assert time.monotonic() - began < 1


def test_a_black_hole_is_known_within_the_limit(silent: tuple[str, int]) -> None:
    began = time.monotonic()
    assert not reachable(silent)
    assert 1.9 < time.monotonic() - began < 2.4


def test_a_name_that_is_not_found_is_not_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object, **__: object) -> list[Any]:
        time.sleep(3)
        raise socket.gaierror("Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    began = time.monotonic()
    assert not reachable(("hub.invalid", 443), limit=0.3)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("source", ["demo", "folder", "gguf"])
def test_a_local_load_asks_nobody(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked for a local model")

    monkeypatch.setattr(socket, "create_connection", asked)
    made = plan(source)
    assert not needs_hub(made)
    assert check_hub(made, {}) == {"HF_HUB_OFFLINE": "1"}


def test_a_kernel_from_the_hub_makes_a_local_model_ask(listening: tuple[str, int]) -> None:
    made = plan("folder", attention="kernels-community/flash-attn2")
    assert needs_hub(made)
    assert check_hub(made, endpoint(listening)) == {}


def test_a_hub_that_answers_is_used(listening: tuple[str, int]) -> None:
    assert check_hub(plan(), endpoint(listening)) == {}


def test_a_cached_model_is_loaded_without_the_hub(refusing: tuple[str, int]) -> None:
    assert check_hub(plan(cached=True), endpoint(refusing)) == {"HF_HUB_OFFLINE": "1"}
    assert check_hub(plan(cached=True), {"HF_HUB_OFFLINE": "1"}) == {"HF_HUB_OFFLINE": "1"}


def test_a_kernel_that_cannot_be_fetched_does_not_stop_a_local_model(refusing: tuple[str, int]) -> None:
    made = plan("folder", attention="kernels-community/flash-attn2")
    assert check_hub(made, endpoint(refusing)) == {"HF_HUB_OFFLINE": "1"}


@pytest.mark.parametrize("cached", [False, None])
def test_a_dead_network_is_an_error_with_what_still_works(silent: tuple[str, int], cached: bool | None) -> None:
    began = time.monotonic()
    with pytest.raises(HubUnreachable) as caught:
        check_hub(plan(cached=cached), endpoint(silent))
    assert time.monotonic() - began < 2.4
    assert str(caught.value) == (
        "org/model is not in the cache, and 127.0.0.1 does not answer within 2 s\n"
        f"  → connect to the network, or set HTTPS_PROXY; {ELSEWHERE}"
    )


def test_an_offline_wish_is_an_error_that_names_it() -> None:
    with pytest.raises(HubUnreachable) as caught:
        check_hub(plan(cached=False), {"HF_HUB_OFFLINE": "1"})
    assert str(caught.value) == (
        f"org/model is not in the cache, and HF_HUB_OFFLINE is set\n  → unset it, or: {ELSEWHERE}"
    )
