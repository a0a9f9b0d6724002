"""The same as `text`, for notebooks: HTML that follows the theme, needs no script and survives stripped styles.

Knows rows and tags; must not know widgets or kernels. What came from a machine, a model or a person is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rocmtx.views import gpu_words, plan_words, text, theme, words
from rocmtx.views.svg import loss_svg, memory_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocmtx.decide.doctor import Finding
    from rocmtx.decide.plan import Plan
    from rocmtx.decide.verdict import Verdict
    from rocmtx.facts.model import Facts
    from rocmtx.state import State

_CLASSES = {"yes": "yes", "no": "no", "not known": "unknown"}


def framed(body: str) -> str:
    """Wrap a view's body with the style sheet that it needs."""
    return f'<div class="rocmtx"><style>{theme.STYLE}</style>{body}</div>'


def devices_html(facts: Facts, *, no_gpu: Verdict | None = None, all_ids: bool = False) -> str:
    """Draw a machine: the same content as `devices_text`."""
    parts = [_origin(facts)]
    if facts.gpus:
        parts.append(table_html(text.device_titles(), [text.device_cells(gpu) for gpu in facts.gpus]))
    parts += [f"<p><small>{escape(note)}</small></p>" for note in gpu_words.device_notes(facts)]
    if all_ids:
        parts += [
            f"<p><small>{escape(f'{gpu_words.gpu_name(gpu)}: {gpu_words.gpu_ids(gpu)}')}</small></p>"
            for gpu in facts.gpus
        ]
    parts.append(no_gpu_html(facts, no_gpu))
    parts.append(f"<p>{escape(words.host_line(facts))}<br>{escape(words.stack_line(facts))}</p>")
    return framed("".join(parts))


def no_gpu_html(facts: Facts, no_gpu: Verdict | None = None) -> str:
    """Draw why there is no AMD GPU and what to type, or "" where there is one."""
    lines = words.no_gpu_lines(facts, no_gpu)
    if not lines:
        return ""
    title, *rest = lines
    return f"<p><strong>{escape(title)}</strong>{''.join(f'<br>{escape(line)}' for line in rest)}</p>"


def _origin(facts: Facts) -> str:
    return f'<p><span class="origin">{escape(words.origin_text(facts))}</span></p>' if facts.recorded else ""


def plan_html(plan: Plan) -> str:
    """Draw a plan: the same content as `plan_text`, and the plain code that does the same."""
    notes = "".join(f"<p>{escape(note)}</p>" for note in plan.notes)
    env = "".join(
        f"<p><small>{escape(f'the worker gets {name}={value}')}</small></p>"
        for name, value in sorted(plan.env().items())
    )
    code = f"<details><summary>The same as code</summary><pre>{escape(plan.code())}</pre></details>"
    return framed(rows_html(plan_words.plan_rows(plan)) + notes + env + code)


def choices_html(choices: Iterable[tuple[str, str, Verdict]]) -> str:
    """Draw the entries of a picker with their verdicts and reasons."""
    head = "<tr><th>choice</th><th>here</th><th>because</th></tr>"
    body = "".join(
        f"<tr><td>{escape(value)}</td>"
        f'<td class="{_CLASSES[verdict.answer]}">{escape(words.VERDICTS[verdict.answer])}</td>'
        f"<td>{escape(verdict.because)}{f'<br>→ {escape(verdict.fix)}' if verdict.fix else ''}</td></tr>"
        for value, _, verdict in choices
    )
    return framed(f"<table><thead>{head}</thead><tbody>{body}</tbody></table>")


def state_html(state: State) -> str:
    """Draw a session: the same rows as `state_text`, and the pictures of loss and memory."""
    return framed(rows_html(words.state_rows(state)) + loss_svg(state) + memory_svg(state))


def memory_html(state: State) -> str:
    """Draw the memory per device now and at its peak, with the picture over time."""
    if not state.samples:
        return framed(f"<p>{escape(text.memory_text(state))}</p>")
    return framed(rows_html(words.memory_rows(state)) + memory_svg(state))


def findings_html(findings: Sequence[Finding]) -> str:
    """Draw what the doctor found: the same content as `findings_text`."""
    if not findings:
        return framed(f"<p>{escape(text.findings_text(findings))}</p>")
    order = list(words.SEVERITIES)
    parts = []
    for finding in sorted(findings, key=lambda found: order.index(found.severity)):
        fix = f"<br>→ {escape(finding.fix)}" if finding.fix else ""
        title = f'<span class="{finding.severity}">{words.SEVERITIES[finding.severity]} {escape(finding.rule)}</span>'
        parts.append(f"<p>{title}: <strong>{escape(finding.seen)}</strong><br>{escape(finding.matters)}{fix}</p>")
    return framed("".join(parts))


def rows_html(rows: Sequence[words.Row]) -> str:
    """Draw labelled rows as a table; a reason stands under its value."""
    cells = []
    for row in rows:
        because = f'<br><span class="because">{escape(row.because)}</span>' if row.because else ""
        kind = f' class="{row.label}"' if row.label in words.SEVERITIES else ""
        cells.append(
            f'<tr><th scope="row">{escape(row.label)}</th>'
            f'<td><span{kind} style="white-space:pre-wrap">{escape(row.value)}</span>{because}</td></tr>'
        )
    return f"<table><tbody>{''.join(cells)}</tbody></table>" if cells else ""


def table_html(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Draw a table with a head."""
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
