"""What notebook and terminal do alike: show the machine, the findings, an explanation, a plan.

Knows the workbench, the deciding functions and the views; must not know IPython or click.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocmtx.commands import wishes
from rocmtx.decide.devices import amd_absence
from rocmtx.decide.plan import Asks
from rocmtx.errors import AskError
from rocmtx.facts.model import facts_to_json
from rocmtx.views import text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocmtx.facts.model import Facts
    from rocmtx.workbench import Workbench


class Host:
    """The shared commands. A subclass says how to show: HTML in a cell, a rich table or plain text in a terminal."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench

    def show(self, plain: str, html: Callable[[], str], rich: Callable[[], Any] | None = None) -> None:
        """Show one thing in the form that fits here."""
        raise NotImplementedError

    def show_json(self, record: Any) -> None:
        """Print JSON: every host does it the same way, so that a program can read it."""
        print(json.dumps(record, indent=2, ensure_ascii=False, default=str))  # noqa: T201 - this is the output

    def spoken(self, sentence: str) -> str:
        """Return a sentence with the commands as they are typed here."""
        return sentence

    def last_error(self) -> str:
        """Return the text of the last error, empty when there is none."""
        raise NotImplementedError

    def look_at(self, machine: str | None, report: str | None, root: str | None) -> Facts:
        """Return the machine to look at: a recorded one, a saved one, a tree, else the current one.

        Raises AskError for an unknown name or two at once, ReportError for a file that cannot be read.
        """
        if sum(value is not None for value in (machine, report, root)) > 1:
            raise AskError("--machine, --report and --root name different machines", "give one of them")
        if machine is not None:
            from rocmtx.facts.machines import load_machine

            return load_machine(machine)
        if report is not None:
            from rocmtx.facts.report import read_report

            return read_report(Path(report))
        if root is not None:
            return self.workbench.read_tree(Path(root))
        return self.workbench.facts(fresh=True)

    def machines(self, *, as_json: bool) -> None:
        """List the recorded machines."""
        from rocmtx.facts.machines import machine_names, machine_summary

        rows = {name: machine_summary(name) for name in machine_names()}
        if as_json:
            self.show_json(rows)
            return
        width = max(map(len, rows))
        plain = "\n".join(f"{name:<{width}}  {about}" for name, about in rows.items())
        self.show(plain, lambda: _html().framed(f"<pre>{_escaped(plain)}</pre>"))

    def devices(
        self, *, all_ids: bool, as_json: bool, machine: str | None, report: str | None, root: str | None
    ) -> None:
        """Show the GPUs, or why there is none and what to type."""
        facts = self.look_at(machine, report, root)
        no_gpu = amd_absence(facts)
        if as_json:
            verdict = {"no_gpu": {"because": no_gpu.because, "fix": no_gpu.fix}} if no_gpu else {}
            self.show_json({**facts_to_json(facts), **verdict})
            return
        self.show(
            text.devices_text(facts, no_gpu=no_gpu, all_ids=all_ids),
            lambda: _html().devices_html(facts, no_gpu=no_gpu, all_ids=all_ids),
            lambda: _tables().devices_rich(facts, no_gpu=no_gpu, all_ids=all_ids),
        )

    def doctor(self, *, as_json: bool, machine: str | None, report: str | None, root: str | None) -> tuple[Any, ...]:
        """Show the findings, most severe first, and return them."""
        from rocmtx.decide.doctor import diagnose

        findings = tuple(
            replace(found, matters=self.spoken(found.matters), fix=self.spoken(found.fix))
            for found in diagnose(self.look_at(machine, report, root))
        )
        if as_json:
            self.show_json([asdict(finding) for finding in findings])
        else:
            self.show(
                text.findings_text(findings),
                lambda: _html().findings_html(findings),
                lambda: _tables().findings_rich(findings),
            )
        return findings

    def explain(self, *, text: tuple[str, ...], machine: str | None, report: str | None, root: str | None) -> None:
        """Explain an error text for this machine; an unknown one is said to be unknown."""
        from rocmtx.decide.explain import explain

        asked = " ".join(text) or self.last_error()
        if not asked.strip():
            raise AskError("there is no error to explain", 'give its text: %rocm explain "HIP error: …"')
        found = explain(asked, self.look_at(machine, report, root))
        if found is None:
            lines = [
                "This error is not known to rocmtx.",
                f"  {asked.strip().splitlines()[-1][:300]}",
                "  → for a report, send it together with the output of: rocmtx report",
            ]
        else:
            lines = [found.means, *([f"  → {found.fix}"] if found.fix else [])]
        plain = self.spoken("\n".join(lines))
        self.show(plain, lambda: _html().framed(f"<pre>{_escaped(plain)}</pre>"))

    def plan(
        self,
        *,
        model: str,
        code: bool,
        as_json: bool,
        machine: str | None,
        report: str | None,
        root: str | None,
        **values: Any,
    ) -> None:
        """Show what a load would do and why, or only the program that does the same."""
        elsewhere = any(value is not None for value in (machine, report, root))
        facts = self.look_at(machine, report, root) if elsewhere else None
        made = self.workbench.plan(Asks(model, **wishes(values)), facts)
        if as_json:
            self.show_json({"plan": made.record(), "kwargs": made.kwargs(), "env": made.env(), "code": made.code()})
            return
        if code:
            written = made.code().rstrip("\n")
            self.show(written, lambda: _html().framed(f"<pre>{_escaped(written)}</pre>"))
            return
        self.show(text.plan_text(made), lambda: _html().plan_html(made), lambda: _tables().plan_rich(made))


def _html() -> Any:
    from rocmtx.views import html

    return html


def _tables() -> Any:
    from rocmtx.views import tables

    return tables


def _escaped(plain: str) -> str:
    from html import escape

    return escape(plain)
