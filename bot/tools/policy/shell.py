"""
A command line read as shell: the simple commands in it, and whether there is anything else.

Rule 1: a line is plain if it is simple commands joined by `;`, a newline, `&&`, `||` or `|`, and
        nothing else: no substitution or expansion, no assignment, no redirection but from a file, to
        `/dev/null` or between descriptors, no compound command, function, comment or background job.
Rule 2: two readers must agree: the grammar of bash (tree-sitter) and Python's `shlex`. Whatever one
        of them does not take is not plain.
Rule 3: a line in which a command may hide (`bot.tools.policy.hiding`) is not plain, and nobody is sure of it.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from bot.tools.policy.hiding import hides, is_evaluated

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_JOINS: Final = frozenset({";", "\n", "&&", "||", "|"})
_LISTS: Final = frozenset({"program", "list", "pipeline", "redirected_statement"})
_LITERALS: Final = frozenset({"word", "number", "raw_string", "string", "concatenation"})
_PARTS: Final = frozenset({*_LITERALS, "string_content", "'", '"'})
_SIGNS: Final = "();<>|&\n"
_OUT: Final = frozenset({">", ">>", "&>", "&>>"})


def names(text: str) -> frozenset[str]:
    """The words of a list of names."""
    return frozenset(text.split())


_BARE: Final = re.compile(r"[A-Za-z0-9_./:,@%+=-]+")
"""A word that is what it looks like."""
_LONGEST: Final = 10_000
"""Characters of a line that is looked at: nobody would read a longer one."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command. `is_fixed`: it is this text; else a pattern, or nobody knows what."""

    text: str
    is_fixed: bool = True

    @property
    def may_be_option(self) -> bool:
        """Whether it can become one that is not to be read here."""
        return not self.is_fixed and self.text[:1] in ("", "*", "?", "[", "{", "~", "-")


Command = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Shell:
    """What a line runs. `is_sure`: in no known way another hides in it than `commands` name."""

    commands: tuple[Command, ...]
    is_plain: bool
    is_sure: bool = True


NOTHING: Final = Shell((), is_plain=False, is_sure=False)


def read_line(line: str) -> Shell:
    """The line's simple commands. A line that nobody understands has none, and is not plain."""
    if not line.strip() or len(line) > _LONGEST or any(map(_is_odd, line)):
        return NOTHING
    source = line.encode()
    root = _parser().parse(source).root_node
    commands = tuple(_words(node) for node in _all(root, "command"))
    declared = _all(root, "declaration_command", "unset_command")
    also = tuple((Word(node.children[0].type),) for node in declared)
    is_sure = not (root.has_error or is_evaluated(root) or any(hides(known(c)) for c in commands))
    is_plain = (
        is_sure
        and not also
        and bool(commands)
        and _is_list(root)
        and all(word.text or word.is_fixed for command in commands for word in command)
        and _by_grammar(root) == _by_shlex(line)
    )
    return Shell((*commands, *also), is_plain, is_sure)


def name_of(command: Command) -> str:
    """The name of what it runs, without the folder; empty where nobody knows it."""
    first = command[0] if command else Word("", is_fixed=False)
    return PurePosixPath(first.text).name if first.is_fixed else ""


def known(command: Command) -> tuple[str | None, ...]:
    """Its words, its name without the folder; None for those that nobody knows."""
    words = [word.text if word.is_fixed else None for word in command]
    return (name_of(command) or None, *words[1:])


def _is_odd(character: str) -> bool:
    """Whether readers of shell take a character for different things."""
    if character in "\n\t ":
        return False
    return not character.isprintable() or character.isspace()


@cache
def _parser() -> "Parser":
    # Loaded where there are rules to match, and not before.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _all(node: "Node", *kinds: str) -> Iterator["Node"]:
    """Every node of these kinds, or every node, in order, wherever it stands."""
    left = [node]
    while left:
        one = left.pop()
        if not kinds or one.type in kinds:
            yield one
        left += reversed(one.children)


def _words(command: "Node") -> Command:
    """The words of a simple command, its name first."""
    found = []
    for child in command.children:
        if child.type == "command_name":
            found.append(_word(child.children[0]))
        elif child.type not in ("variable_assignment", "file_redirect", "herestring_redirect"):
            found.append(_word(child))
    return tuple(found)


def _word(node: "Node") -> Word:
    """A word as bash has it once the quotes are gone."""
    text = _text(node)
    if node.type in ("word", "number") and _BARE.fullmatch(text):
        return Word(text)
    parts = list(_all(node, *_PARTS))
    if len(parts) != sum(1 for _ in _all(node)) or "\\\n" in text or _has_escape(node):
        return Word("", is_fixed=False)
    try:
        values = shlex.split(text)
    except ValueError:
        return Word("", is_fixed=False)
    if len(values) != 1:
        return Word("", is_fixed=False)
    return Word(values[0], is_fixed=not _is_pattern(node))


def _has_escape(node: "Node") -> bool:
    """A backslash between double quotes: the two readers take it for different things."""
    return any("\\" in _text(part) for part in _all(node, "string"))


def _is_pattern(node: "Node") -> bool:
    """Whether what is not quoted may become other words."""
    bare = [part for part in _all(node) if not part.children and part.type in ("word", "number")]
    texts = [_text(part) for part in bare]
    starts = bool(bare) and bare[0].start_byte == node.start_byte and texts[0].startswith("~")
    # Braces and a tilde behind `=` or `:` are taken for patterns, too.
    signs = any(sign in _unescaped(text) for text in texts for sign in "*?[]{}")
    return starts or signs or any("~" in text and ("=" in text or ":" in text) for text in texts)


def _unescaped(text: str) -> str:
    """The text without what a backslash makes plain."""
    parts = iter(text)
    return "".join(sign for sign in parts if sign != "\\" or next(parts, "") is None)


def _is_list(root: "Node") -> bool:
    """Whether it is commands, joined, with harmless redirections: see rule 1."""
    left = list(root.children)
    while left:
        node = left.pop()
        if node.type in _LISTS:
            left += node.children
        elif node.type == "command":
            if any(part.type not in ("command_name", *_LITERALS) for part in node.children):
                return False
        elif node.type == "file_redirect":
            if not _is_harmless(node):
                return False
        elif node.type not in _JOINS or node.is_named:
            return False
    return True


def _is_harmless(redirect: "Node") -> bool:
    """From a file, to nowhere, or between descriptors."""
    parts = [part for part in redirect.children if part.type != "file_descriptor"]
    if len(parts) != 2:
        return False
    sign, target = parts[0].type, _word(parts[1])
    if sign == "<":
        # Of these bash makes connections.
        is_connection = target.text.startswith(("/dev/tcp/", "/dev/udp/"))
        return target.is_fixed and bool(target.text) and not is_connection
    if sign in _OUT:
        return target == Word("/dev/null")
    return sign == ">&" and target.is_fixed and target.text in ("1", "2")


def _by_grammar(root: "Node") -> list[list[str]]:
    """Each command's words and redirections, as the grammar of bash has them."""
    found: list[list[str]] = [[]]
    left = [root]
    while left:
        node = left.pop()
        if node.type == "command":
            # A newline has no node of its own.
            found.append([])
        if node.type in _LITERALS:
            found[-1].append(_word(node).text)
        elif node.children:
            left += reversed(node.children)
        elif node.type in _JOINS:
            found.append([])
        else:
            found[-1].append(_text(node))
    return [one for one in found if one]


def _by_shlex(line: str) -> list[list[str]]:
    """The same, as `shlex` has them; nothing where it does not take the line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_SIGNS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    found: list[list[str]] = [[]]
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    for token in tokens:
        sign = token.replace("\n", "") if token.strip(_SIGNS) == "" else token
        if token and sign in ("", *_JOINS):
            found.append([])
        else:
            found[-1].append(sign)
    return [one for one in found if one]


def _text(node: "Node") -> str:
    return (node.text or b"").decode()
