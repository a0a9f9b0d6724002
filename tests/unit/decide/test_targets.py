"""The tables: complete, sourced, and in agreement with what is known about single cards."""

from __future__ import annotations

import pytest

from rocmtx.decide.capability import list_targets
from rocmtx.decide.methods import ALIASES, methods
from rocmtx.decide.models import own_flash, supports
from rocmtx.decide.targets import Target, base_arch, find_target, read_table, source_of, target_names
from rocmtx.facts.families import family_of


def test_every_row_has_every_column_and_every_column_a_source() -> None:
    rows = {name: row for name, row in read_table("targets").items() if name != "sources"}
    columns = set(rows["gfx942"])
    for name, row in rows.items():
        assert set(row) == columns, name
    for column in columns:
        assert source_of(column).source
        assert source_of(column).date.startswith("2026")


def test_sources_are_all_used() -> None:
    columns = read_table("targets")["gfx942"]
    used = {source_of(column) for column in columns}
    assert len(used) == len(read_table("targets")["sources"])


@pytest.mark.parametrize(
    ("gfx", "family", "wave", "fp8", "fp4", "bf16"),
    [
        ("gfx906", "GCN5.1", 64, "none", False, False),
        ("gfx90a:sramecc+:xnack-", "CDNA2", 64, "none", False, True),
        ("gfx942:sramecc+:xnack-", "CDNA3", 64, "fnuz", False, True),
        ("gfx950", "CDNA4", 64, "ocp", True, True),
        ("gfx1030", "RDNA2", 32, "none", False, False),
        ("gfx1100", "RDNA3", 32, "none", False, True),
        ("gfx1201", "RDNA4", 32, "ocp", False, True),
        # CDNA, and yet wave32.
        ("gfx1250", "CDNA5", 32, "ocp", True, True),
    ],
)
def test_targets(gfx: str, family: str, wave: int, fp8: str, *, fp4: bool, bf16: bool) -> None:
    target = find_target(gfx)
    assert (target.family, target.wave, target.fp8, target.fp4) == (family, wave, fp8, fp4)
    assert target.computes("bfloat16") is bf16
    assert target.known


def test_a_target_that_is_not_in_the_table_is_unknown_in_everything_but_its_family() -> None:
    assert find_target("gfx1299") == Target("gfx1299")
    assert find_target("gfx1204") == Target("gfx1204", family="RDNA4")
    assert find_target("gfx1204").computes("bfloat16") is None
    assert not find_target("gfx1204").known
    assert find_target(None) == Target("unknown")


@pytest.mark.parametrize("text", ["gfx906:sramecc+:xnack-", "gfx906", "GFX906 "])
def test_feature_flags_are_no_part_of_the_name(text: str) -> None:
    assert base_arch(text) == "gfx906"


def test_the_table_covers_every_generation() -> None:
    families = {find_target(name).family for name in target_names()}
    assert families == {
        "GCN4", "GCN5", "GCN5.1", "CDNA1", "CDNA2", "CDNA3", "CDNA4", "CDNA5",
        "RDNA1", "RDNA2", "RDNA3", "RDNA3.5", "RDNA4",
    }  # fmt: skip


def test_methods_have_a_config_exactly_where_they_quantize_while_loading() -> None:
    for name, method in methods().items():
        assert (method.config is not None) is method.on_the_fly, name
    assert set(ALIASES.values()) <= set(methods())


@pytest.mark.parametrize(
    ("model_type", "family", "answer"),
    [("llama", "sdpa", True), ("gpt_oss", "sdpa", False), ("bloom", "flash", False), (None, "sdpa", None)],
)
def test_model_classes(model_type: str | None, family: str, answer: bool | None) -> None:
    assert supports(model_type, family) is answer  # type: ignore[arg-type]


def test_classes_with_kernels_of_their_own() -> None:
    assert own_flash("gpt_oss") == "kernels-community/aiter-flash-attn"
    assert own_flash("mimo_v2_flash") == ""
    assert own_flash("llama") is None
    assert own_flash(None) is None


def test_long_lists_of_targets_are_cut() -> None:
    eight = tuple(f"gfx{number}" for number in range(8))
    assert list_targets(eight) == "gfx0, gfx1, gfx2, gfx3, gfx4, gfx5, gfx6, gfx7"
    assert list_targets((*eight, "gfx8", "gfx9")) == "gfx0, gfx1, gfx2, gfx3, gfx4, gfx5 and 4 more"


def test_facts_and_table_name_the_families_alike() -> None:
    assert {name: family_of(name) for name in target_names()} == {
        name: find_target(name).family for name in target_names()
    }
    assert family_of("gfx1151:sramecc-") == "RDNA3.5"
    assert family_of("gfx9999") is None
    assert family_of(None) is None
