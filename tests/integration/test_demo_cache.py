"""Where the converted demo model is kept: in the folder that ROCMTX_CACHE names, made once, and never half."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from rocmtx.events import Event

pytestmark = pytest.mark.demo


def test_the_cache_is_where_the_setting_says_and_never_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocmtx.run.engine.demo import demo_folder

    cache = tmp_path / "cache"
    monkeypatch.setenv("ROCMTX_CACHE", str(cache))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and then nothing")
    seen: list[Event] = []
    with pytest.raises(Exception, match=r"\S"):
        demo_folder(broken, seen.append)
    assert seen, "a conversion says that it has begun"
    # The failed draft is gone; only the lock is left, and it names the folder to be.
    (lock,) = (cache / "models").iterdir()
    assert lock.suffix == ".lock"

    finished = cache / "models" / lock.stem
    finished.mkdir()
    (finished / "config.json").write_text("{}", encoding="utf-8")
    seen.clear()
    assert demo_folder(broken, seen.append) == finished
    assert seen == [], "what is there is not made again"
