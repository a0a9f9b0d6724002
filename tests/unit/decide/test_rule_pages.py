"""Every rule has a page and an example, and every page a rule."""

from __future__ import annotations

from unit.decide import rule_pages
from unit.decide.rule_pages import FOLDER


def test_the_pages_are_those_of_the_rules() -> None:
    made = rule_pages.pages()
    kept = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert sorted(kept) == sorted(made)
    for name, text in made.items():
        assert kept[name] == text, f"{name}: run python tests/unit/decide/rule_pages.py"


def test_every_rule_is_shown_on_a_machine() -> None:
    findings, explained = rule_pages.examples()
    assert set(rule_pages.doctor_rules()) <= set(findings)
    assert set(rule_pages.text_rules()) <= set(explained)


def test_every_rule_of_the_doctor_is_described() -> None:
    assert [name for name, (_, about) in rule_pages.doctor_rules().items() if not about] == []
