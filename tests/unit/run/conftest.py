"""Sessions on the echo worker: a real process that needs no torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from rocmtx.decide.plan import Asks, make_plan
from rocmtx.facts.model import Checkpoint, Facts
from rocmtx.run.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocmtx.run.engine.load import LoadedModel

ECHO = Path(__file__).with_name("echo_worker.py")


class Start(Protocol):
    """Starts a session; ended when the test is over."""

    def __call__(self, model: str = "echo", *, grace: float = 60.0, wait: bool = True) -> Session:
        """Start a session on a model of the echo engine and wait for it."""
        ...


@pytest.fixture
def echo_workers(runtime_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let every session start the echo worker; return the runtime folder."""
    popen = subprocess.Popen

    def echo(command: list[str], **settings: Any) -> subprocess.Popen[bytes]:
        # The same command line, but for the module: python -P -m rocmtx.run CARD … becomes python echo_worker.py CARD …
        return popen([sys.executable, str(ECHO), *command[4:]], **settings)

    monkeypatch.setattr(subprocess, "Popen", echo)
    return runtime_dir


@pytest.fixture
def start(echo_workers: Path) -> Iterator[Start]:
    """Return a function that starts a session whose worker is the echo worker."""
    del echo_workers
    made: list[Session] = []

    def begin(model: str = "echo", *, grace: float = 60.0, wait: bool = True) -> Session:
        plan = make_plan(Facts(), Asks(model), Checkpoint(model, "folder"))
        session = Session.start(plan, environment=dict(os.environ), grace=grace, notebook="a.ipynb")
        made.append(session)
        if wait:
            session.wait("load")
        return session

    yield begin
    for session in made:
        session._process.end(0.0)
        session.close()


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """Return the demo model's tokenizer, from the converted folder."""
    from transformers import AutoTokenizer

    from rocmtx.facts.checkpoint import read_checkpoint
    from rocmtx.run.engine.demo import demo_folder

    path = read_checkpoint("demo").path
    assert path is not None
    return AutoTokenizer.from_pretrained(demo_folder(Path(path), lambda _: None))


@pytest.fixture
def tiny(tokenizer: Any) -> LoadedModel:
    """Return a real Llama with one layer and random weights: no sense, but all that a model does."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from rocmtx.run.engine.load import LoadedModel

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
    )
    return LoadedModel("tiny", LlamaForCausalLM(config).eval(), tokenizer, 0.0, 128)
