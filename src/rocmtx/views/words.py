"""The words of the views: how a machine, a GPU, a choice and a session are said, so that every view says the same.

Knows facts, plans and states, and turns them into short texts and labelled rows; must not know any output format,
nor judge anything: a reason is shown only where `decide` or a reader gave one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocmtx import units
from rocmtx.views import gpu_words

if TYPE_CHECKING:
    from rocmtx.decide.verdict import Verdict
    from rocmtx.events import Loaded, Loading, Step
    from rocmtx.facts.model import Facts
    from rocmtx.state import Answer, State, Training

PHASES = {
    "new": "nothing loaded",
    "loading": "loading",
    "ready": "ready",
    "generating": "generating",
    "training": "training",
    "unloading": "unloading",
    "ended": "ended: nothing loaded",
    "failed": "failed: nothing loaded",
}
BUILDS = {"rocm": "ROCm build", "cuda": "CUDA build", "cpu": "CPU build", None: "build unknown"}
VERDICTS = {"yes": "works", "no": "no", "not known": "not known"}
STEP_TITLES = ("step", "loss", "learning rate", "speed")
SEVERITIES = {"error": "error", "warning": "warning", "note": "note"}


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled value of a view, and where there is one, its reason."""

    label: str
    value: str
    because: str = ""


def origin_text(facts: Facts) -> str:
    """Return "" for this machine now, else what every view of a replayed one must carry."""
    if not facts.recorded:
        return ""
    name = f": {facts.label}" if facts.label else ""
    return f"recorded machine ({facts.origin}){name}"


def headline(facts: Facts) -> str:
    """Return the GPUs in one line, equal ones counted: "2 × AMD Instinct MI300X · gfx942 · 192.0 GiB each"."""
    kinds = Counter(
        (gpu_words.gpu_name(gpu), gpu.gfx if gpu.vendor == "AMD" else "", gpu.vram_total, gpu.hip_ordinal is None)
        for gpu in facts.gpus
    )
    texts = []
    for (name, gfx, total, hidden), count in kinds.items():
        size = units.bytes_text(total) if total is not None else "memory unknown"
        size += " each" if count > 1 else ""
        parts = [name, units.UNKNOWN if gfx is None else gfx, size, "hidden" if hidden else ""]
        texts.append((f"{count} × " if count > 1 else "") + " · ".join(part for part in parts if part))
    if not facts.amd_gpus():
        texts.insert(0, "no AMD GPU")
    return ", ".join(texts)


def stack_line(facts: Facts) -> str:
    """Return the versions that matter, absent ones named as such."""
    stack = facts.stack
    torch = stack.torch
    parts = [
        f"ROCm {stack.rocm}" if stack.rocm else "ROCm not found",
        f"torch {torch.version} ({BUILDS[torch.build]})" if torch else "torch not installed",
    ]
    transformers = stack.version("transformers")
    parts.append(f"transformers {transformers}" if transformers else "transformers not installed")
    return " · ".join([*parts, *([f"Python {stack.python}"] if stack.python else [])])


def host_line(facts: Facts) -> str:
    """Return the machine around the GPUs: processor, memory, system; what is not known is left out."""
    host = facts.host
    parts = [host.cpu or host.machine or "processor unknown"]
    if host.cpu_count is not None:
        parts.append(f"{host.cpu_count} CPU{'s' if host.cpu_count != 1 else ''}")
    if host.memory_total is not None:
        free = f" ({units.bytes_text(host.memory_available)} free)" if host.memory_available is not None else ""
        parts.append(f"{units.bytes_text(host.memory_total)} memory{free}")
    parts += [text for text in (host.distribution, f"Linux {host.kernel}" if host.kernel else None) if text]
    parts += [text for text in ("WSL" if host.wsl else None, host.container and f"in {host.container}") if text]
    return " · ".join(parts)


def no_gpu_lines(facts: Facts, no_gpu: Verdict | None = None) -> tuple[str, ...]:
    """Return why no AMD GPU can be used and what to type; empty where one is visible to HIP.

    `no_gpu` is the judgement of `decide.absence.why_no_gpu`; without it only what was read is said.
    """
    amd = facts.amd_gpus()
    if any(gpu.hip_ordinal is not None for gpu in amd):
        return ()
    title = "No AMD GPU can be used here" if amd else "No AMD GPU here"
    if no_gpu is None:
        why = "" if amd or facts.host.kfd_topology else " — no KFD in /sys"
        return (f"{title}{why}", "→ find out more with: %rocm doctor, or in a terminal: rocmtx doctor")
    return (f"{title} — {no_gpu.because}", *([f"→ {no_gpu.fix}"] if no_gpu.fix else []))


def choice_rows(record: Mapping[str, Any]) -> tuple[Row, ...]:
    """Return the choices of a plan's record; a choice that the record lacks is left out."""
    rows: list[Row] = []
    for name in ("device", "gpus", "dtype", "attention", "quantization", "kernels"):
        choice = record.get(name)
        if not isinstance(choice, Mapping) or "because" not in choice:
            continue
        if name == "gpus" and not choice.get("value"):
            continue
        because = str(choice["because"])
        # The GPUs are chosen together with the device, for the same reason: once is enough.
        repeated = name == "gpus" and rows and rows[-1].because == because
        rows.append(Row(name, value_text(choice.get("value")), "" if repeated else because))
    return tuple(rows)


def value_text(value: object) -> str:
    """Write a chosen value: None is "none", flags are "on" and "off", lists are joined."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(str(item) for item in value) if isinstance(value, list | tuple) else str(value)


def loaded_text(loaded: Loaded) -> str:
    """Return what is loaded: name, class, parameters and weights."""
    inside = [loaded.architecture]
    if loaded.parameters is not None:
        inside.append(f"{units.count_text(loaded.parameters)} parameters")
    if loaded.weight_bytes is not None:
        inside.append(f"{units.bytes_text(loaded.weight_bytes)} of weights")
    return f"{loaded.model} ({', '.join(part for part in inside if part)})"


def progress_text(progress: Loading | None) -> str:
    """Return how far a load is: "weights: 120.0 MiB of 256.6 MiB (47 %)"."""
    if progress is None:
        return "starting"
    if progress.done is None:
        return progress.stage
    write = units.bytes_text if progress.unit == "bytes" else units.count_text
    share = progress_share(progress)
    if share is None:
        return f"{progress.stage}: {write(progress.done)}"
    return f"{progress.stage}: {write(progress.done)} of {write(progress.total)} ({units.ratio_text(share)})"


def progress_share(progress: Loading | None) -> float | None:
    """Return how much of a load is done, 0–1, or None where the total is not known."""
    if progress is None or progress.done is None or not progress.total:
        return None
    return min(progress.done / progress.total, 1.0)


def speed_text(answer: Answer) -> str:
    """Return the speed of an answer: "24 tokens · 35.7 tokens/s · first token after 120 ms"."""
    if not answer.count:
        return "no token yet" if not answer.done else "no tokens"
    parts = [f"{answer.count} token{'s' if answer.count != 1 else ''}"]
    if answer.tokens_per_second is not None:
        parts.append(units.rate_text(answer.tokens_per_second))
    if answer.first_token is not None:
        parts.append(f"first token after {units.seconds_text(answer.first_token)}")
    return " · ".join([*parts, *(["stopped"] if answer.stopped else [])])


def training_text(training: Training) -> str:
    """Return a training run: "20 of 20 steps · loss 3.214 → 0.04321 · 512 tokens/s"."""
    losses = [step for step in training.steps if step.loss is not None]
    done = max((step.step for step in training.steps), default=0)
    total = f" of {training.total}" if training.total else ""
    parts = [f"{done}{total} step{'s' if (training.total or done) != 1 else ''}"]
    if losses:
        first, last = units.number_text(losses[0].loss), units.number_text(losses[-1].loss)
        parts.append(f"loss {first} → {last}" if len(losses) > 1 else f"loss {first}")
        if losses[-1].tokens_per_second is not None:
            parts.append(units.rate_text(losses[-1].tokens_per_second))
    held = [step.eval_loss for step in training.steps if step.eval_loss is not None]
    parts += [f"held-out loss {units.number_text(held[-1])}"] if held else []
    return " · ".join([*parts, *(["stopped"] if training.stopped else [])])


def step_cells(step: Step) -> tuple[str, ...]:
    """Return one training step as cells under `STEP_TITLES`."""
    return (
        f"{step.step}",
        units.number_text(step.loss),
        units.number_text(step.learning_rate, 3),
        units.rate_text(step.tokens_per_second),
    )


def memory_rows(state: State) -> tuple[Row, ...]:
    """Return one row per device: memory now, of how much, and the peak; empty before the first sample."""
    if not state.samples:
        return ()
    rows = []
    for reading in state.samples[-1].readings:
        now = reading.used if reading.used is not None else reading.reserved
        total = f" of {units.bytes_text(reading.total)}" if reading.total is not None else ""
        parts = [f"{units.bytes_text(now)}{total}", f"peak {units.bytes_text(state.peak.get(reading.device))}"]
        if reading.allocated is not None:
            parts.insert(1, f"tensors {units.bytes_text(reading.allocated)}")
        rows.append(Row(reading.device, " · ".join(parts)))
    return tuple(rows)


def memory_summary(state: State) -> str:
    """Return the memory in one line, for beside a chart; with many devices only the fullest."""
    rows = memory_rows(state)
    if len(rows) <= 1:
        # Without a worker nothing is measured any more: the number is of before, and says so.
        past = "" if state.loaded or state.busy else "last measured "
        return past + rows[0].value if rows else ""
    device, peak = max(state.peak.items(), key=lambda item: item[1], default=("", None))
    return f"{len(rows)} devices · highest peak {units.bytes_text(peak)} on {device}"


def status_text(state: State) -> str:
    """Return what is going on, without any number that moves: it is announced to screen readers."""
    text = PHASES[state.phase]
    if state.loaded is None:
        return f"{text}: {state.progress.stage}" if state.phase == "loading" and state.progress else text
    return f"{text}: {state.loaded.model} on {state.loaded.device}, {state.loaded.dtype}, {state.loaded.attention}"


def busy_share(state: State) -> float | None:
    """Return how far the running task is, 0–1; -1 when that is not known, None when nothing runs."""
    if not state.busy:
        return None
    if state.phase == "loading":
        share = progress_share(state.progress)
        return -1.0 if share is None else round(share, 3)
    if state.phase == "training" and state.training and state.training.total:
        done = max((step.step for step in state.training.steps[-1:]), default=0)
        return round(min(done / state.training.total, 1.0), 3)
    return -1.0


def state_rows(state: State) -> tuple[Row, ...]:
    """Return a session as rows: what runs and why, the answer, the training, the memory, warnings and the error."""
    phase = PHASES[state.phase] + (f" ({progress_text(state.progress)})" if state.phase == "loading" else "")
    rows = [Row("phase", phase), *_model_rows(state)]
    if state.answer:
        rows.append(Row("prompt", state.answer.prompt))
        rows.append(Row("answer", state.answer.text or ("…" if not state.answer.done else "(empty)")))
        rows.append(Row("speed", speed_text(state.answer)))
    if state.training:
        rows.append(Row("training", training_text(state.training)))
    rows += [Row(f"memory {row.label}", row.value) for row in memory_rows(state)]
    rows += [Row("warning", warning.message, warning.hint and f"→ {warning.hint}") for warning in state.warnings[-3:]]
    if state.failure:
        error = state.failure.error
        rows.append(Row("error", error["message"], error["hint"] and f"→ {error['hint']}"))
    return tuple(rows)


def _model_rows(state: State) -> tuple[Row, ...]:
    """Take what runs from `Loaded` and its reason from the plan; say where the two differ."""
    loaded, planned = state.loaded, {row.label: row for row in choice_rows(state.plan)}
    if loaded is None:
        return tuple(planned.values()) if state.phase == "loading" else ()
    rows = [Row("model", loaded_text(loaded))]
    real = {
        "device": loaded.device,
        "dtype": loaded.dtype,
        "attention": loaded.attention,
        "quantization": value_text(loaded.quantization),
    }
    for label, value in real.items():
        choice = planned.get(label)
        because = choice.because if choice else ""
        if choice and label != "device" and choice.value != value:
            because = f"planned was {choice.value}: {because}"
        named = f" ({loaded.device_name})" if label == "device" and loaded.device_name else ""
        rows.append(Row(label, value + named, because))
    if loaded.kernels:
        rows.append(Row("kernels", ", ".join(loaded.kernels)))
    return tuple(rows)
