"""Whether the model hub can be reached, found out within two seconds.

Knows sockets, the hub's environment variables and plans; must not know Transformers. A dead network costs Transformers
23–46 s per call unless its hub client is in offline mode, so the question is asked before the client is started.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rocmtx.errors import HubUnreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocmtx.decide.plan import Plan

TIME_LIMIT = 2.0
_HUB = "https://huggingface.co"
_TRUE = {"1", "ON", "YES", "TRUE"}


def offline_asked(environment: Mapping[str, str]) -> bool:
    """Return True when the person switched the hub off: HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE."""
    return any(environment.get(name, "").upper() in _TRUE for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))


def hub_address(environment: Mapping[str, str]) -> tuple[str, int]:
    """Return host and port that a request to the hub goes to first: the proxy's where one applies, else the hub's."""
    hub = urlsplit(environment.get("HF_ENDPOINT") or _HUB)
    proxy = _proxy(hub.scheme, hub.hostname or "", environment)
    parts = urlsplit(proxy if "//" in proxy else f"http://{proxy}") if proxy else hub
    return parts.hostname or "huggingface.co", parts.port or (80 if parts.scheme == "http" else 443)


def _proxy(scheme: str, host: str, environment: Mapping[str, str]) -> str:
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # documented nowhere, used by all

    def value(name: str) -> str:
        return environment.get(name) or environment.get(name.upper()) or ""

    if proxy_bypass_environment(host, {"no": value("no_proxy")}):
        return ""
    return value(f"{scheme}_proxy") or value("all_proxy")


def reachable(address: tuple[str, int], limit: float = TIME_LIMIT) -> bool:
    """Return whether a TCP connection opens within the limit. Name look-up is inside it: it alone can hang for long."""
    opened = threading.Event()

    def knock() -> None:
        try:
            with socket.create_connection(address, timeout=limit):
                opened.set()
        except OSError:
            return

    thread = threading.Thread(target=knock, name="rocmtx-knock", daemon=True)
    thread.start()
    thread.join(limit)
    return opened.is_set()


def needs_hub(plan: Plan) -> bool:
    """Return whether this load may have to ask the hub: a hub model, or a kernel that lives there."""
    attention = plan.attention.value or ""
    return plan.checkpoint.source == "hub" or plan.kernels.value or "/" in attention or "flash" in attention


def check_hub(plan: Plan, environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables for the worker: the hub client switched off where it is not needed or cannot be reached.

    Raises HubUnreachable within two seconds when the model is not in the cache and there is no way to fetch it.
    """
    offline = {"HF_HUB_OFFLINE": "1"}
    if not needs_hub(plan):
        return offline
    cached = plan.checkpoint.source != "hub" or bool(plan.checkpoint.cached)
    instead = "%rocm load demo needs no network; a local folder neither"
    if offline_asked(environment):
        if not cached:
            message = f"{plan.asks.model} is not in the cache, and HF_HUB_OFFLINE is set"
            raise HubUnreachable(message, f"unset it, or: {instead}")
        return offline
    host, port = hub_address(environment)
    if reachable((host, port)):
        return {}
    if not cached:
        raise HubUnreachable(
            f"{plan.asks.model} is not in the cache, and {host} does not answer within {TIME_LIMIT:.0f} s",
            f"connect to the network, or set HTTPS_PROXY; {instead}",
        )
    return offline
