"""What a chart draws, as numbers: memory over time and loss over steps, taken from a State.

Knows states and samples; must not know how a line is drawn. A value that was not measured is None, a gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmtx.state import Mark, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocmtx.events import Reading, Sample, Step

# With more devices than this, one line a device: what is in use. Two lines each would be a thicket.
_DETAILED_DEVICES = 2


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """One line of the memory chart: which number of which device."""

    device: str
    number: str  # "used", "reserved" or "allocated": a field of Reading

    @property
    def name(self) -> str:
        """What the legend calls it; on a CPU the number is this session's own memory."""
        if self.number == "used" and self.device == "cpu":
            return "cpu, this session"
        return f"{self.device} {'in use' if self.number == 'used' else f'{self.number} by this session'}"

    def read(self, readings: Sequence[Reading]) -> float | None:
        """Return this line's value in bytes among one sample's readings, None where it was not measured."""
        for reading in readings:
            if reading.device == self.device:
                value: int | None = getattr(reading, self.number)
                return value
        return None


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines over a common axis: `at` are seconds since `start` (memory) or step numbers (loss)."""

    at: tuple[float, ...]
    names: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]  # one tuple a line, as long as `at`
    marks: tuple[tuple[float, str], ...] = ()

    @property
    def largest(self) -> float | None:
        """The largest value of all lines, None when nothing was measured."""
        return max((value for line in self.values for value in line if value is not None), default=None)


def memory_lines(samples: Sequence[Sample]) -> tuple[Line, ...]:
    """Return the lines that these samples can fill, in the order in which the devices appeared."""
    devices = dict.fromkeys(reading.device for sample in samples for reading in sample.readings)
    measured = {
        Line(reading.device, number)
        for sample in samples
        for reading in sample.readings
        for number in ("used", "reserved", "allocated")
        if getattr(reading, number) is not None
    }
    lines = []
    for device in devices:
        whole = next(
            (Line(device, number) for number in ("used", "reserved") if Line(device, number) in measured), None
        )
        own = Line(device, "allocated")
        if whole:
            lines.append(whole)
        if own in measured and (whole is None or len(devices) <= _DETAILED_DEVICES):
            lines.append(own)
    return tuple(lines)


def memory_curves(state: State) -> Curves:
    """Return memory in bytes over seconds since the first sample, with the state's marks."""
    if not state.samples:
        return Curves((), (), ())
    lines, start = memory_lines(state.samples), state.samples[0].time
    return Curves(
        tuple(sample.time - start for sample in state.samples),
        tuple(line.name for line in lines),
        tuple(tuple(line.read(sample.readings) for sample in state.samples) for line in lines),
        tuple((mark.time - start, mark.label) for mark in visible_marks(state.marks, start)),
    )


def visible_marks(marks: Sequence[Mark], start: float) -> tuple[Mark, ...]:
    """Return the marks from `start` on; the request that began the sampling comes a moment before and counts."""
    early = [mark for mark in marks if mark.time < start]
    opening = [Mark(start, early[-1].label)] if early and start - early[-1].time <= 2 else []  # noqa: PLR2004
    return (*opening, *(mark for mark in marks if mark.time >= start))


def loss_curves(state: State) -> Curves:
    """Return the loss over steps, and the held-out loss where it was measured."""
    steps = state.training.steps if state.training else ()
    lines = {"loss": "loss", "eval_loss": "held-out loss"}
    present = [number for number in lines if any(drawable(step, number) for step in steps)]
    at = sorted({step.step for step in steps})
    # A training that diverged reports NaN: nothing that could be drawn.
    # A loss and a held-out loss of the same step are two events, and one point on the axis.
    table = {name: {step.step: getattr(step, name) for step in steps if drawable(step, name)} for name in present}
    values = tuple(tuple(table[number].get(step) for step in at) for number in present)
    return Curves(tuple(float(step) for step in at), tuple(lines[number] for number in present), values)


def drawable(step: Step, number: str) -> bool:
    """Tell whether a step has this number, and a finite one."""
    value = getattr(step, number)
    return value is not None and math.isfinite(value)


def thinned(curves: Curves, most: int) -> Curves:
    """Return at most `most` points: of each stretch the highest, so that no peak is lost, and the last one."""
    count = len(curves.at)
    if count <= most:
        return curves
    size = -(-count // (most - 1))
    chosen = {count - 1}
    for begin in range(0, count, size):
        stretch = range(begin, min(begin + size, count))
        chosen.add(max(stretch, key=lambda at: max((line[at] or 0.0 for line in curves.values), default=0.0)))
    kept = sorted(chosen)
    values = tuple(tuple(line[at] for at in kept) for line in curves.values)
    return Curves(tuple(curves.at[at] for at in kept), curves.names, values, curves.marks)
