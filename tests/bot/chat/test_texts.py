"""What people read stands in the catalogue, and nowhere else."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.chat.texts import CATALOGUE, ENGLISH, Texts
from bot.goals.goal import State

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted(
    path
    for folder in ("bot/chat", "adapters/console")
    for path in (ROOT / folder).rglob("*.py")
    if "texts" not in path.parts
)
SENTENCE = re.compile(r"[A-Za-z]{2,},? [a-z]{2,}(,? [A-Za-z]{2,}|[.!?]$)")
PLACEHOLDER = re.compile(r"<[^>]*>")
LOGS = {"debug", "info", "warning", "error", "exception"}


def sentences(tree: ast.AST) -> Iterator[str]:
    """String constants that read like a sentence, outside docstrings, errors and logs."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Raise) or _is_log(child):
            continue
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        text = child.value if isinstance(child, ast.Constant) else None
        if isinstance(text, str) and SENTENCE.search(PLACEHOLDER.sub("", text)):
            yield text
        yield from sentences(child)


def _is_log(node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Expr) else node
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in LOGS


def keys_used() -> tuple[set[str], set[str]]:
    """Keys written out in the source, and the fixed beginnings of those put together there."""
    whole, beginnings = set(), set()
    more = [*(ROOT / "bot/cli").glob("*.py"), *(ROOT / "bot/wiring").glob("*.py")]
    for path in [*SOURCES, *more]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                beginnings.add(str(node.values[0].value))
    return whole, beginnings


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_sentence_stands_outside_the_catalogue(path: Path) -> None:
    assert list(sentences(ast.parse(path.read_text()))) == []


def test_every_sentence_is_said_somewhere() -> None:
    whole, beginnings = keys_used()
    beginnings = {one for one in beginnings if one.endswith((".", ":"))}

    unsaid = [
        key
        for key in ENGLISH
        if key not in whole and not any(key.startswith(one) for one in beginnings)
    ]

    assert unsaid == []


def test_every_state_has_a_word() -> None:
    texts = Texts()

    assert all(texts(f"state.{state}") for state in State)


@pytest.mark.parametrize("language", sorted(CATALOGUE))
def test_a_language_names_the_same_values_as_english(language: str) -> None:
    def named(template: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(template) if name}

    for key, template in CATALOGUE[language].items():
        assert named(template) <= named(ENGLISH[key]), key


def test_a_language_that_is_not_there_is_english() -> None:
    assert Texts("tlh")("button.pause") == "Pause"


def test_an_unknown_key_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        Texts()("no.such.key")
