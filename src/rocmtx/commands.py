"""The words: every subcommand and option, declared once, for the magics and for the terminal.

Knows click and the grammar; must not know what a command does: it calls the method of the same name on a `Host`
(`magics.NotebookHost`, `cli.TerminalHost`) with the parsed values. Option names are Transformers' own, with dashes.
"""

from __future__ import annotations

import difflib
import keyword
import shlex
from typing import TYPE_CHECKING, Any

import click

from rocmtx.errors import AskError, RocmtxError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MODEL_OPTIONS = ("device", "dtype", "attention", "quantization", "kernels", "revision", "trust_remote_code")
PLAN_OPTIONS = ("context", "batch", "train", "ranks", "tp", "fsdp")
OWN_GENERATE = ("system", "raw", "seed")
OWN_TRAIN = ("method", "lora_r", "lora_alpha", "max_length")


class Group(click.Group):
    """A group that names the nearest command when one is misspelt."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand. Raises AskError with a suggestion."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise AskError(f"there is no command {name!r}", _nearest(name, self.list_commands(ctx), ctx.command_path))
        return super().resolve_command(ctx, args)


def _nearest(name: str, known: Sequence[str], program: str) -> str:
    if name in DECLARED:
        return f"that is for notebooks: %rocm {name}. {program} --help lists what a terminal has"
    if name in TERMINAL:
        return f"that is for a terminal: rocmtx {name}. {program} help lists what a notebook has"
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean: {program} {near[0]}?"
    return f"{program} {'help' if program[0] == '%' else '--help'} lists them"


def option(*names: str, **settings: Any) -> Callable[..., Any]:
    """Declare an option; as click's, but a default is never shown twice."""
    return click.option(*names, **settings)


def several(*decorators: Callable[..., Any]) -> Callable[..., Any]:
    """Join decorators into one."""

    def join(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return join


def _variable(_ctx: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    """Refuse what is no variable name before anything has run for it."""
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise AskError(f"{name!r} is no variable name", "for example: -o answer")
    return name


model_options = several(
    option("--device", help="auto, cpu, a number or several (0,2), cuda:1, a PCI address, or a target (gfx942)"),
    option("--dtype", help="auto, bfloat16, float16 or float32"),
    option(
        "--attention", help="sdpa, eager, flash_attention_2, flash_attention_3, flex_attention, or a kernel ORG/REPO"
    ),
    option("--quantization", help="none, bitsandbytes-4bit, bitsandbytes-8bit, torchao-int8, …"),
    option("--kernels/--no-kernels", default=None, help="replace layers by kernels from the hub"),
    option("--revision", help="branch, tag or commit on the hub"),
    option("--trust-remote-code", is_flag=True, help="run the model's own code from the hub"),
)
plan_options = several(
    option("--context", type=click.IntRange(min=1), help="tokens, prompt and answer, that the memory is for (2048)"),
    option("--batch", type=click.IntRange(min=1), help="sequences at once (1; 4 in training)"),
    option("--train", type=click.Choice(["lora", "full"]), help="plan a training run, and write its program"),
    option("--ranks", type=click.IntRange(min=1), help="processes under torchrun, a GPU each"),
    option("--tp", type=click.IntRange(min=1), help="split every layer over so many ranks (tensor parallel)"),
    option("--fsdp", type=click.IntRange(min=1), help="keep the weights in so many parts (FSDP)"),
)
generate_options = several(
    option("--max-new-tokens", type=click.IntRange(min=1), help="stop after so many tokens (256)"),
    option("--min-new-tokens", type=click.IntRange(min=0)),
    option("--do-sample/--no-do-sample", default=None, help="sample instead of taking the likeliest token"),
    option("--temperature", type=click.FloatRange(min=0, min_open=True)),
    option("--top-k", type=click.IntRange(min=0)),
    option("--top-p", type=click.FloatRange(min=0, max=1, min_open=True)),
    option("--min-p", type=click.FloatRange(min=0, max=1)),
    option("--repetition-penalty", type=click.FloatRange(min=0, min_open=True)),
    option("--stop-strings", multiple=True, help="end at this text; may be given several times"),
    option("--seed", type=int, help="the same seed gives the same answer"),
    option("--system", help="a system message before the prompt"),
    option("--raw", is_flag=True, help="give the prompt as it is, without the chat template"),
)
train_options = several(
    option("--method", type=click.Choice(["lora", "full"]), help="lora (small adapter matrices) or full"),
    option("--lora-r", type=click.IntRange(min=1), help="rank of the adapter (8)"),
    option("--lora-alpha", type=click.IntRange(min=1), help="scale of the adapter (16)"),
    option("--max-length", type=click.IntRange(min=1), help="cut examples after so many tokens (1024)"),
    option("--max-steps", type=click.IntRange(min=1), help="optimizer steps (20)"),
    option("--num-train-epochs", type=click.FloatRange(min=0, min_open=True)),
    option("--learning-rate", type=click.FloatRange(min=0, min_open=True), help="0.001"),
    option("--per-device-train-batch-size", type=click.IntRange(min=1), help="4"),
    option("--gradient-accumulation-steps", type=click.IntRange(min=1)),
    option("--warmup-steps", type=click.FloatRange(min=0)),
    option("--weight-decay", type=click.FloatRange(min=0)),
    option("--lr-scheduler-type", help="constant, linear, cosine, …"),
    option("--optim", help="adamw_torch_fused, adafactor, …"),
    option("--seed", type=int, help="the same seed gives the same run (0)"),
    option("--output-dir", help="save the adapter or model here"),
)
machine_options = several(
    option("--machine", metavar="NAME", help="look at a recorded machine instead; `machines` lists them"),
    option("--report", metavar="FILE", help="look at a machine that was saved with `rocmtx report`"),
    option("--root", metavar="DIR", help="look at a tree with sys/ and proc/ in it"),
)
json_option = option("--json", "as_json", is_flag=True, help="print JSON")
output_option = option(
    "-o", "--out", "out", metavar="NAME", callback=_variable, help="keep the result in this variable"
)
model_argument = click.argument("model", default="demo")

# name -> (what it does, its parameters, where: "both", "magic" or "terminal")
DECLARED: dict[str, tuple[str, Callable[..., Any], str]] = {
    "devices": (
        "Show the GPUs: name, architecture, memory, and how PyTorch calls them, or why not.",
        several(
            option("--all", "all_ids", is_flag=True, help="every number and address of each GPU"),
            machine_options,
            json_option,
        ),
        "both",
    ),
    "doctor": (
        "Check GPU, driver and packages; each finding comes with its fix.",
        several(machine_options, json_option),
        "both",
    ),
    "explain": (
        "Explain an error: the last one of this notebook, or the text that is given.",
        several(click.argument("text", nargs=-1), machine_options),
        "both",
    ),
    "plan": (
        "Show what loading a model would do here, and why, without loading it.",
        several(
            model_argument,
            model_options,
            plan_options,
            option("--code", is_flag=True, help="print only the plain program that does the same"),
            machine_options,
            json_option,
        ),
        "both",
    ),
    "machines": ("List the recorded machines that can be looked at without a GPU.", several(json_option), "both"),
    "machine": (
        "Put the notebook on a recorded machine, to look and plan; 'live' goes back to this one.",
        several(click.argument("name", required=False)),
        "magic",
    ),
    "use": (
        "Take these devices for later loads: numbers (0,2), a target (gfx942), a PCI address, cpu, or auto.",
        several(click.argument("device", required=False)),
        "magic",
    ),
    "code": (
        "Put the plain Transformers code of a load, or of a training (--train), into the next cell.",
        several(click.argument("model", required=False), model_options, plan_options),
        "magic",
    ),
    "load": (
        "Load a model: 'demo', a folder, a .gguf file, or a hub id such as Qwen/Qwen3-0.6B.",
        several(model_argument, model_options, output_option),
        "magic",
    ),
    "generate": (
        "Answer a prompt; as a cell magic the cell's body is the prompt.",
        several(click.argument("prompt", nargs=-1), generate_options, output_option),
        "magic",
    ),
    "train": (
        "Train on the examples in the cell's body: lines, JSON lines, or Python that leaves `dataset`.",
        several(train_options, output_option),
        "magic",
    ),
    "memory": (
        "Show the memory of this session over time.",
        several(option("--figure", is_flag=True, help="as a Plotly figure"), output_option),
        "magic",
    ),
    "status": (
        "Show what is loaded and what it is doing, as text.",
        several(option("--trace", is_flag=True, help="with the traceback of the last failure"), json_option),
        "magic",
    ),
    "stop": ("Stop the running task; what it has made so far is kept.", several(), "magic"),
    "unload": ("Free the model and say how much memory came back.", several(), "magic"),
    "sessions": ("List the models that are loaded under your account.", several(json_option), "magic"),
    "attach": (
        "Take over a loaded model again, after a kernel restart.",
        several(click.argument("session", required=False)),
        "magic",
    ),
    "panel": ("Show the panel.", several(), "magic"),
    "help": ("List the commands.", several(), "magic"),
}
TERMINAL: dict[str, tuple[str, Callable[..., Any], str]] = {
    "generate": (
        "Load a model and answer a prompt.",
        several(
            option("--model", default="demo", show_default=True, help="'demo', a folder, a .gguf file, or a hub id"),
            option("--prompt", help="the prompt; read from standard input when it is left out"),
            model_options,
            generate_options,
            json_option,
        ),
        "terminal",
    ),
    "train": (
        "Load a model and train it on a file of examples: lines or JSON lines.",
        several(
            option("--model", default="demo", show_default=True, help="'demo', a folder, a .gguf file, or a hub id"),
            option("--data", type=click.File(), required=True, help="the file; - for standard input"),
            model_options,
            train_options,
            json_option,
        ),
        "terminal",
    ),
    "report": (
        "Write this machine's facts to a file that can be sent or replayed.",
        several(
            option("-o", "--out", "out", metavar="FILE", help="the file; standard output when it is left out"),
            option("--full", is_flag=True, help="keep serial numbers, names and folders"),
        ),
        "terminal",
    ),
}


def build(program: str, where: str) -> Group:
    """Return the commands for "magic" or "terminal" under a program name."""
    group = Group(
        name=program,
        help="AMD GPUs in Jupyter: see them, load a model, generate, train, watch the memory.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        no_args_is_help=False,
    )
    chosen = {name: row for name, row in DECLARED.items() if row[2] in {"both", where}}
    if where == "terminal":
        chosen |= TERMINAL
    for name, (text, parameters, _) in sorted(chosen.items()):
        group.add_command(click.command(name, help=text)(parameters(_call(name))))
    return group


def _call(name: str) -> Callable[..., Any]:
    @click.pass_obj
    def run(host: Any, /, **values: Any) -> Any:
        return getattr(host, name)(**values)

    return run


def words_of(line: str) -> list[str]:
    """Split a line as a shell does. Raises AskError when a quotation mark is left open."""
    try:
        return shlex.split(line)
    except ValueError:
        hint = '%rocm generate "What\'s new?", or put the prompt below %%rocm generate'
        raise AskError(
            "a quotation mark is left open", f"put text with ' or \" into the other kind of marks: {hint}"
        ) from None


def dispatch(group: Group, words: Sequence[str], host: object) -> Any:
    """Parse the words and call the host; `--help` prints. Raises RocmtxError, and BrokenPipeError when nobody reads."""
    try:
        return group.main(args=list(words), prog_name=group.name, standalone_mode=False, obj=host)
    except click.exceptions.Exit:
        return None
    except click.UsageError as error:
        raise _usage(error, group, words) from None
    except click.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:
        # click's own answer to a reader that has gone, and its only one.
        raise BrokenPipeError from None


def _usage(error: click.UsageError, group: Group, words: Sequence[str]) -> RocmtxError:
    known_command = bool(words) and words[0] in group.commands
    where = error.ctx.command_path if error.ctx else f"{group.name} {words[0]}" if known_command else str(group.name)
    help_hint = f"{where} --help lists the options"
    if isinstance(error, click.NoSuchOption):
        near = list(error.possibilities or ())
        if not near and error.ctx:
            known = [name for parameter in error.ctx.command.params for name in parameter.opts]
            near = difflib.get_close_matches(error.option_name, known, n=1)
        hint = f"did you mean {near[0]}? {help_hint}" if near else help_hint
        return AskError(f"there is no option {error.option_name} for {where}", hint)
    message = error.format_message().rstrip(".")
    return AskError(message[:1].lower() + message[1:], help_hint)


def option_names(group: Group, name: str) -> list[str]:
    """Return the long options of a subcommand, for completion."""
    command = group.commands.get(name)
    if command is None:
        return []
    names = [word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)]
    return sorted({word for word in names if word.startswith("--")} | {"--help"})


def wishes(values: dict[str, Any]) -> dict[str, Any]:
    """Take the model options out of parsed values: what is left unset is None, "you choose"."""
    return {name: values.pop(name) for name in (*MODEL_OPTIONS, *PLAN_OPTIONS) if name in values}


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that were really given: the others stay the library's defaults."""
    return {name: value for name, value in values.items() if value is not None and value != () and value is not False}
