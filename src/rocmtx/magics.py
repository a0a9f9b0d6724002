"""%rocm and %%rocm (alias %rocmtx): parse, call, hand to a view.

Knows IPython's shell, displays and completion hooks; no logic of its own. Registering imports nothing heavy: the
commands, click and the views come with the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from rocmtx.commands import Group
    from rocmtx.notebook import NotebookHost

_KEYS = ("%rocm", "%%rocm", "%rocmtx", "%%rocmtx")


@magics_class
class RocmMagics(Magics):
    """The magics of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self._group: Group | None = None
        self._host: NotebookHost | None = None

    @property
    def group(self) -> Group:
        """The commands, built when they are first needed."""
        if self._group is None:
            from rocmtx.commands import build

            self._group = build("%rocm", "magic")
        return self._group

    @property
    def host(self) -> NotebookHost:
        """The notebook's side of the commands."""
        if self._host is None:
            from rocmtx.notebook import NotebookHost
            from rocmtx.workbench import current

            self._host = NotebookHost(current(), self._shell)
        return self._host

    @no_var_expand  # braces and dollars in a prompt are text
    @line_cell_magic
    def rocm(self, line: str, cell: str | None = None) -> None:
        """Work with AMD GPUs from a notebook.

        %rocm                          the panel: devices, choices, model, answer, training, memory
        %rocm devices                  the GPUs, or why there is none and what to type
        %rocm doctor                   what is wrong here, with the fix
        %rocm use 0,2                  the devices for later loads; prints the mask that torchrun needs
        %rocm plan MODEL               what loading would do here, and why
        %rocm load MODEL               'demo', a folder, a .gguf file or a hub id; --device --dtype --attention …
        %rocm generate "PROMPT"        an answer, streamed; --max-new-tokens --temperature --seed -o NAME …
        %%rocm generate                the cell's body is the prompt
        %%rocm train                   the body is examples (lines, JSON lines) or Python that leaves `dataset`
        %rocm memory                   memory over time; --figure for Plotly
        %rocm status                   what is loaded and what it does
        %rocm code                     the plain Transformers code of this load, in the next cell
        %rocm stop                     stop the running task; so does interrupting the kernel
        %rocm unload                   free the model and say what came back
        %rocm sessions / attach        find a loaded model again after a kernel restart
        %rocm explain                  the last error in plain words
        %rocm machines                 recorded machines; %rocm machine NAME looks at one, 'live' goes back
        %rocm help                     this list; %rocm COMMAND --help for one command
        """
        from rocmtx.commands import dispatch, words_of

        self.host.body = cell
        words = words_of(line) if line.strip() else []
        if not words and cell is not None and cell.strip():
            from rocmtx.errors import AskError

            raise AskError("%%rocm needs to know what to do with the cell", "%%rocm generate, or %%rocm train")
        dispatch(self.group, words or ["panel"], self.host)

    def complete(self, _shell: InteractiveShell, event: Any) -> list[str]:
        """Complete subcommands, options and the values of options."""
        from rocmtx.completion import completions

        return completions(self.group, self.host.workbench, event.line, event.symbol)


def register(shell: InteractiveShell) -> None:
    """Add the magics and their completion to a shell; a second time changes nothing."""
    if "rocm" in shell.magics_manager.magics["line"]:
        return
    magics = RocmMagics(shell)
    shell.register_magics(magics)
    for kind in ("line", "cell"):
        shell.magics_manager.register_alias("rocmtx", "rocm", kind)
    for key in _KEYS:
        shell.set_hook("complete_command", magics.complete, str_key=key)


def unregister(shell: InteractiveShell) -> None:
    """Remove the magics again and end the session they started."""
    for kind in ("line", "cell"):
        for name in ("rocm", "rocmtx"):
            shell.magics_manager.magics[kind].pop(name, None)
    custom = getattr(shell.Completer, "custom_completers", None)
    table = getattr(custom, "strs", {})
    for key in _KEYS:
        table.pop(key, None)
    magics = shell.magics_manager.registry.pop("RocmMagics", None)
    if magics is not None and magics._host is not None:  # noqa: SLF001 - our own class
        magics._host.close()  # noqa: SLF001 - same
