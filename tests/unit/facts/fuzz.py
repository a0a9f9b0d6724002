"""Look for inputs that raise, for as long as asked: `python tests/unit/facts/fuzz.py --seconds 600`.

Feeds random bytes to the property tests of this folder. A finding ends the program with its traceback.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MODULES = (
    "test_checkpoint",
    "test_survey",
    "test_sysfs",
    "test_names",
    "test_masks",
    "test_visibility",
    "test_smi",
    "test_report",
    "test_stack",
)


def properties() -> list[Any]:
    """Return the property tests of the modules."""
    sys.path[:0] = [str(FOLDER.parents[1])]  # as in the tests: `unit.facts.tree_files`
    found = []
    for name in MODULES:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        if spec is None or spec.loader is None:
            raise FileNotFoundError(name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found += [value for value in vars(module).values() if hasattr(value, "hypothesis")]
    return found


def main() -> int:
    """Run until the time is over or something raises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    source = random.Random(seed)  # noqa: S311 - no secret
    tests = properties()
    print(f"seed {seed}, {len(tests)} properties")  # noqa: T201 - a program
    runs = 0
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        size = source.choice((16, 64, 256, 1024, 4096))
        source.choice(tests).hypothesis.fuzz_one_input(source.randbytes(size))
        runs += 1
    print(f"{runs} inputs, none raised")  # noqa: T201 - a program
    return 0


if __name__ == "__main__":
    sys.exit(main())
