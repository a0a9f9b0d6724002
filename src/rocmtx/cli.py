"""The terminal's twin of the magics: `rocmtx devices`, `rocmtx generate --model … --prompt …`, each with `--json`.

Knows stdout, stderr and exit codes; no logic of its own. Exit 0 is done, 1 a failure with its hint on stderr, 2 a wish
that is not understood, 130 an interrupt.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rocmtx._version import __version__
from rocmtx.commands import OWN_GENERATE, OWN_TRAIN, build, dispatch, given, wishes
from rocmtx.decide.plan import Asks
from rocmtx.errors import AskError, RocmtxError
from rocmtx.facts.model import facts_to_json
from rocmtx.hosts import Host
from rocmtx.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from rocmtx.views.streaming import TerminalView

_INTERRUPTED = 130


class TerminalHost(Host):
    """Shows rich tables on a terminal, plain text in a pipe; a model lives as long as the command."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__(workbench)
        self.status = 0

    def show(self, plain: str, html: Callable[[], str], rich: Callable[[], Any] | None = None) -> None:  # noqa: ARG002
        """Print: coloured and fitted to the width on a terminal, else plain."""
        if rich is not None and sys.stdout.isatty():
            from rich.console import Console

            Console().print(rich())
        else:
            print(plain)  # noqa: T201 - this is the output

    def spoken(self, sentence: str) -> str:
        """Return a sentence with the commands as a terminal has them."""
        return sentence.replace("%rocm ", "rocmtx ")

    def last_error(self) -> str:
        """Return what is piped in."""
        return "" if sys.stdin.isatty() else sys.stdin.read()

    def doctor(self, **values: Any) -> tuple[Any, ...]:
        """As in a notebook; an error among the findings makes the exit status 1."""
        findings = super().doctor(**values)
        self.status = int(any(finding.severity == "error" for finding in findings))
        return findings

    def generate(self, *, model: str, prompt: str | None, as_json: bool, **values: Any) -> None:
        """Load a model, answer one prompt on stdout as it comes, and end the worker."""
        from rocmtx.run.asks import GenerateAsk

        asks = Asks(model, **wishes(values))
        asked = prompt if prompt is not None else self._piped("--prompt TEXT")
        if not asked.strip():
            raise AskError("the prompt is empty", 'rocmtx generate --prompt "What is the capital of France?"')
        own = {name: values.pop(name) for name in OWN_GENERATE}
        ask = GenerateAsk(prompt=asked, options=given(values), **own)
        with self.workbench.load(asks, _watch(sys.stderr)) as session:
            answer = _watch(sys.stdout) if not as_json else None
            try:
                session.follow(lambda: session.begin_generate(ask), answer)
            finally:
                if answer:
                    answer.close()
            state = session.state
            done = state.answer
            result = dict(done.result) if done else {}
            if as_json:
                text = done.text if done else ""
                loaded = asdict(state.loaded) if state.loaded else None
                self.show_json({"text": text, **result, "loaded": loaded, "peak_memory": dict(state.peak)})
            elif done:
                from rocmtx.views.words import speed_text

                print(speed_text(done), file=sys.stderr)  # noqa: T201 - the summary, apart from the answer

    def train(self, *, model: str, data: TextIO, as_json: bool, **values: Any) -> None:
        """Load a model, train it on a file, and end the worker; --output-dir keeps the result."""
        from rocmtx.run.asks import TrainAsk
        from rocmtx.run.examples import rows_of_text

        asks = Asks(model, **wishes(values))
        own = given({name: values.pop(name) for name in OWN_TRAIN})
        ask = TrainAsk(rows_of_text(data.read()), options=given(values), **own)
        with self.workbench.load(asks, _watch(sys.stderr)) as session:
            session.follow(lambda: session.begin_train(ask), None if as_json else _watch(sys.stdout))
            training = session.state.training
            if as_json and training:
                steps = [{"step": step.step, "loss": step.loss} for step in training.steps]
                self.show_json({**training.result, "losses": steps, "peak_memory": dict(session.state.peak)})
            elif training:
                from rocmtx.views.words import training_text

                print(training_text(training), file=sys.stderr)  # noqa: T201 - the summary

    def report(self, *, out: str | None, full: bool) -> None:
        """Write this machine's facts, without serial numbers, names and folders unless `full`."""
        from pathlib import Path

        from rocmtx.facts import read_files
        from rocmtx.facts.report import redacted, write_report

        facts = self.workbench.facts(fresh=True)
        if out is None:
            self.show_json(facts_to_json(facts if full else redacted(facts)))
        else:
            write_report(facts, Path(out), full=full, files=None if facts.recorded else read_files())
            print(f"written: {out}", file=sys.stderr)  # noqa: T201 - progress

    @staticmethod
    def _piped(instead: str) -> str:
        if sys.stdin.isatty():
            raise AskError("there is no prompt", f"give {instead}, or pipe the text in")
        # `echo … |` ends with a line end that nobody means; a small model answers differently to it.
        return sys.stdin.read().strip("\n")


def _watch(stream: TextIO) -> TerminalView:
    """Return a listener that writes a session's events to a stream as they come."""
    from rocmtx.views.streaming import TerminalView

    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    return TerminalView(write, live=stream.isatty())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(words: list[str]) -> int:
    """Run one command and return its exit status; errors go to stderr, one line and a hint."""
    group = build("rocmtx", "terminal")
    if words in (["--version"], ["-V"]):
        print(f"rocmtx {__version__}")  # noqa: T201 - this is the output
        return 0
    host = TerminalHost(Workbench())
    try:
        dispatch(group, words or ["--help"], host)
        sys.stdout.flush()
    except RocmtxError as error:
        print(host.spoken(f"rocmtx: {error}"), file=sys.stderr)  # noqa: T201 - this is the message
        return 2 if isinstance(error, AskError) else 1
    except KeyboardInterrupt:
        print("rocmtx: interrupted", file=sys.stderr)  # noqa: T201 - this is the message
        return _INTERRUPTED
    except BrokenPipeError:
        # `rocmtx devices | head` closes the pipe early: that is no failure.
        sys.stderr.close()
        return 0
    finally:
        host.workbench.close()
    return host.status
