"""tqdm bars of Transformers and of the hub client as `Loading` events.

Knows tqdm's interface; must not draw anything.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tqdm.auto import tqdm

from rocmtx.events import Event, Loading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

INTERVAL = 0.1


class Throttled:
    """Emits progress at most every `INTERVAL` seconds, and always the last."""

    def __init__(self, emit: Callable[[Event], None], stage: str, total: float | None, unit: str) -> None:
        self._emit = emit
        self._stage = stage
        self._total = total
        self._unit = "bytes" if unit.upper() == "B" else "parts"
        self._due = 0.0

    def tell(self, done: float, total: float | None = None, *, last: bool = False) -> None:
        """Say how far it is."""
        now = time.monotonic()
        self._total = total if total is not None else self._total
        if last or now >= self._due:
            self._due = now + INTERVAL
            self._emit(Loading(stage=self._stage, done=done, total=self._total, unit=self._unit))  # type: ignore[arg-type]


class Bar:
    """What Transformers' tqdm hook gets instead of a bar: iterable, countable, closable."""

    def __init__(
        self,
        emit: Callable[[Event], None],
        _factory: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._items = args[0] if args else kwargs.get("iterable")
        total = kwargs.get("total")
        if total is None and hasattr(self._items, "__len__"):
            total = len(self._items)  # type: ignore[arg-type]
        stage = str(kwargs.get("desc") or "weights").rstrip(": .").lower().removeprefix("loading ")
        self._told = Throttled(emit, stage, total, str(kwargs.get("unit", "it")))
        self.n = 0
        self.total = total

    def __iter__(self) -> Iterator[Any]:
        for item in self._items or ():
            yield item
            self.update()
        self.close()

    def update(self, count: int = 1) -> None:
        """Count on."""
        self.n += count
        self._told.tell(self.n)

    def close(self) -> None:
        """Say the last state."""
        self._told.tell(self.n, last=True)

    def set_description(self, *_: object, **__: object) -> None:
        """Nothing to draw."""

    set_postfix = set_postfix_str = refresh = reset = set_description

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


class DownloadBar(tqdm):  # type: ignore[misc]  # no stubs are published for tqdm
    """The bar class that hub downloads are given; `emit` is set before a load."""

    emit: ClassVar[Callable[[Event], None] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["disable"] = True  # nothing is drawn in a worker's log
        self._about = (kwargs.get("desc"), kwargs.get("total"), str(kwargs.get("unit", "it")))
        super().__init__(*args, **{key: value for key, value in kwargs.items() if key != "name"})
        desc, total, unit = self._about
        told = type(self).emit
        self._told = Throttled(told, f"download {desc or ''}".strip(), total, unit) if told else None
        self._counted = 0.0

    def update(self, n: float | None = 1) -> bool | None:
        """Count on."""
        self._counted += n or 0
        if self._told:
            self._told.tell(self._counted, self.total)
        return None

    def close(self) -> None:
        """Say the last state."""
        if getattr(self, "_told", None) and self._counted:
            self._told.tell(self._counted, self.total, last=True)  # type: ignore[union-attr]
        super().close()
