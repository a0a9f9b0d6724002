"""Every rule that explains a foreign exception, on the exception that the library really raises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rocmtx.errors import (
    AskError,
    HubUnreachable,
    MissingPackage,
    ModelNotFound,
    ModelUnreadable,
    OutOfMemory,
    RocmtxError,
    RunError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.demo

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "vocab_size": 32,
}
# A hub on this machine that answers as the real one does for a gated, an absent and a revision-less model.
HUB = """
import json, os, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
ANSWERS = {"gated": (403, "GatedRepo"), "absent": (401, "RepoNotFound"), "branch": (404, "RevisionNotFound")}
class Hub(BaseHTTPRequestHandler):
    def do_GET(self):
        code, name = next(answer for word, answer in ANSWERS.items() if word in self.path)
        self.send_response(code)
        self.send_header("X-Error-Code", name)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_HEAD = do_GET
    def log_message(self, *_): pass
hub = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=hub.serve_forever, daemon=True).start()
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{hub.server_port}"
from transformers import AutoConfig
from rocmtx.run.engine.faults import translate
said = {}
for word in ANSWERS:
    try:
        AutoConfig.from_pretrained(f"org/{word}")
    except Exception as error:
        said[word] = translate(error).record()
print(json.dumps(said))
"""


def load(folder: Path, **files: object) -> Any:
    """Load a model from a folder with these files; a text or bytes as they are, anything else as JSON."""
    from transformers import AutoModelForCausalLM

    folder.mkdir()
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
    return AutoModelForCausalLM.from_pretrained(folder)


def config(name: str) -> Any:
    """Read a config by a name that is no folder."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(name)


def flash_attention_without_a_kernel() -> Any:
    from transformers import AutoModelForCausalLM, LlamaConfig

    small = LlamaConfig(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, vocab_size=32)
    return AutoModelForCausalLM.from_config(small, attn_implementation="flash_attention_2")


def a_gpu_on_a_cpu_build() -> Any:
    import torch

    if torch.backends.cuda.is_built():
        raise AssertionError("Torch not compiled with CUDA enabled")
    return torch.zeros(1, device="cuda")


def a_name_that_is_not_there() -> None:
    from torch import nothing_of_this_name  # type: ignore[attr-defined]  # noqa: F401


def no_permission() -> None:
    raise PermissionError(13, "Permission denied", "/models/a/model.safetensors")


CASES: dict[str, tuple[Callable[[Path], Any], type[RocmtxError], str, str]] = {
    "a name that is none": (
        lambda _: config("a b//c"),
        ModelNotFound,
        "the model is neither a folder here nor a hub id",
        "check the path, or write ORG/NAME",
    ),
    "offline": (
        lambda _: config("org/none"),
        HubUnreachable,
        "the model is not in the cache and the hub cannot be reached",
        "connect to the network, or load a local folder, or: %rocm load demo",
    ),
    "damaged weights": (
        lambda path: load(path / "m", config__json=LLAMA, model__safetensors=b"\x10" + bytes(7) + b"{broken header}"),
        ModelUnreadable,
        "the weights of the model are damaged: Error while deserializing header: ",
        "download them again; an interrupted download leaves half a file",
    ),
    "no weights": (
        lambda path: load(path / "m", config__json=LLAMA),
        ModelUnreadable,
        "the model is incomplete: Error no file named model.safetensors",
        "the folder needs config.json and *.safetensors",
    ),
    "an unknown kind": (
        lambda path: load(path / "m", config__json={"model_type": "zork"}),
        ModelUnreadable,
        "Transformers does not know this kind of model: The checkpoint you are trying to load has model type `zork`",
        "pip install -U transformers, or pick a text-generation model",
    ),
    "a kind that writes no text": (
        lambda path: load(path / "m", config__json={"model_type": "vit"}),
        ModelUnreadable,
        "Transformers does not know this kind of model: Unrecognized configuration class",
        "pip install -U transformers, or pick a text-generation model",
    ),
    "a damaged config": (
        lambda path: load(path / "m", config__json="{"),
        ModelUnreadable,
        "the model is damaged: It looks like the config file at ",
        "download it again; an interrupted download leaves half a file",
    ),
    "no permission": (
        lambda _: no_permission(),
        ModelUnreadable,
        "[Errno 13] Permission denied: '/models/a/model.safetensors'",
        "make the files readable for your account",
    ),
    "code of its own": (
        lambda path: load(path / "m", config__json={"model_type": "zork", "auto_map": {"AutoConfig": "code.Zork"}}),
        ModelUnreadable,
        "the model runs code of its own from the hub",
        "if you trust its authors, add --trust-remote-code",
    ),
    "flash attention without a kernel": (
        lambda _: flash_attention_without_a_kernel(),
        MissingPackage,
        "",
        "use --attention sdpa; %rocm doctor says what is missing",
    ),
    "a GPU on a CPU build": (
        lambda _: a_gpu_on_a_cpu_build(),
        RunError,
        "this torch build has no GPU support",
        "%rocm doctor names the build for your GPU",
    ),
    "a package that is not installed": (
        lambda _: __import__("nothing_of_this_name"),
        MissingPackage,
        "No module named 'nothing_of_this_name'",
        "pip install 'rocmtx[models]', or the package that is named",
    ),
    "a package that lacks a name": (
        lambda _: a_name_that_is_not_there(),
        MissingPackage,
        "cannot import name 'nothing_of_this_name' from 'torch'",
        "pip install the package that is named, then load again",
    ),
}


def explained(act: Callable[[], Any]) -> RocmtxError:
    """Return what an exception becomes."""
    from rocmtx.run.engine.faults import translate

    try:
        act()
    except Exception as error:  # noqa: BLE001 - whatever the library raises
        return translate(error)
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("name", CASES)
def test_a_foreign_exception_in_plain_words(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    act, kind, message, hint = CASES[name]
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)  # a worker has no terminal to be asked on
        error = explained(lambda: act(tmp_path))
    assert type(error) is kind
    assert error.message.startswith(message)
    assert "\n" not in error.message
    assert error.hint == hint
    assert error.trace.startswith("Traceback (most recent call last):")


@pytest.fixture(scope="module")
def hub() -> dict[str, dict[str, str]]:
    """Return what the answers of a hub become."""
    surroundings = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    done = subprocess.run([sys.executable, "-c", HUB], env=surroundings, capture_output=True, text=True, check=True)
    answers: dict[str, dict[str, str]] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.mark.parametrize(
    ("word", "kind", "message", "hint"),
    [
        (
            "gated",
            "ModelUnreadable",
            "the model is gated: its owner wants you to agree to terms first",
            "open its page on the hub, agree, then run: hf auth login",
        ),
        (
            "absent",
            "ModelNotFound",
            "there is no model the model on the hub",
            "check the spelling (ORG/NAME); a private one needs: hf auth login",
        ),
        (
            "branch",
            "ModelNotFound",
            "the model has no such revision",
            "leave --revision out, or look at the branches on its hub page",
        ),
    ],
)
def test_an_answer_of_the_hub_in_plain_words(
    hub: dict[str, dict[str, str]], word: str, kind: str, message: str, hint: str
) -> None:
    record = hub[word]
    assert (record["kind"], record["message"], record["hint"]) == (kind, message, hint)


def test_every_rule_has_a_case() -> None:
    from rocmtx.run.engine.faults import RULES

    tried = {hint for _, _, _, hint in CASES.values()}
    of_the_hub = {rule[4] for rule in RULES if rule[0] in {"GatedRepoError", "RevisionNotFoundError"}}
    of_the_hub |= {rule[4] for rule in RULES if rule[0] == "RepositoryNotFoundError"}
    assert {rule[4] for rule in RULES} == tried | of_the_hub


def test_no_memory_is_out_of_memory_whoever_says_so() -> None:
    import torch

    from rocmtx.run.engine.faults import translate

    for error in (torch.OutOfMemoryError("HIP out of memory. Tried to allocate 2 GiB.\nSee …"), MemoryError()):
        known = translate(error)
        assert type(known) is OutOfMemory
        assert known.hint == "unload, or use a smaller model, a smaller dtype or fewer tokens"
    assert translate(MemoryError()).message == "MemoryError"


def test_what_no_rule_knows_keeps_its_first_line_and_its_trace() -> None:
    error = explained(lambda: (_ for _ in ()).throw(ValueError("\n  odd thing\nmore")))
    assert type(error) is RunError
    assert str(error) == "ValueError: odd thing\n  → the whole traceback: %rocm status --trace"
    assert "more" in error.trace


def test_our_own_error_passes_unchanged() -> None:
    from rocmtx.run.engine.faults import translate

    error = AskError("no", "yes")
    assert translate(error) is error


def test_a_chain_that_bites_its_tail_ends() -> None:
    from rocmtx.run.engine.faults import chain

    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__context__ = second, first
    assert list(chain(first)) == [first, second]


def test_the_name_of_the_model_is_in_the_message() -> None:
    from rocmtx.decide.plan import Asks, make_plan
    from rocmtx.facts.model import Checkpoint, Facts
    from rocmtx.run.engine.faults import translate

    plan = make_plan(Facts(), Asks("./mine"), Checkpoint("./mine", "folder"))
    error = translate(OSError("./mine does not appear to have a file named config.json"), plan)
    assert error.message == "./mine is incomplete: ./mine does not appear to have a file named config.json"
