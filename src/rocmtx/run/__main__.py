"""What each rank runs: `python -m rocmtx.run CARD --grace SECONDS`.

Knows how to start a worker on the real engine; must not know what the worker does.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rocmtx.errors import MissingPackage

if TYPE_CHECKING:
    from rocmtx.run.worker import Engine

from rocmtx.run.places import read_card
from rocmtx.run.worker import Worker


def make_engine() -> Engine:
    """Import torch and Transformers and return the engine. Raises MissingPackage with the line to type."""
    try:
        from rocmtx.run.engine import TransformersEngine
    except ImportError as error:
        cause: BaseException = error
        while cause.__cause__ is not None:  # Transformers' lazy imports hide the missing package at the bottom
            cause = cause.__cause__
        raise MissingPackage(
            f"{sys.executable} cannot load torch and Transformers: {cause}",
            "install what models need: pip install 'rocmtx[models]' (with a torch build for your GPU first)",
        ) from error
    return TransformersEngine()


def main() -> None:
    """Serve one session until its owner says so or is gone."""
    parser = argparse.ArgumentParser(prog="python -m rocmtx.run")
    parser.add_argument("card", type=Path)
    parser.add_argument("--grace", type=float, default=60.0)
    arguments = parser.parse_args()
    # A GPU fault or a segmentation fault then leaves the Python stack in the log, where the owner looks for the reason.
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    Worker(read_card(arguments.card), make_engine, arguments.grace).run()


if __name__ == "__main__":
    main()
