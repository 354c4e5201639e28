"""
Blocks of a message, and how much of them Slack takes. Pure.

Rule 1: a text is a `markdown` block where Slack's own reading of it is known to be ours: nothing in it
        calls anybody or is read in another way. One line is a section; all else is rich text.
Rule 2: lengths count after escaping. A message has at most 12,000 characters in all of its blocks.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

from markdown_it.token import Token

from adapters.slack import mrkdwn, richtext
from adapters.slack.elements import Block
from adapters.slack.mrkdwn import SECTION_MOST, escaped
from adapters.slack.text import Parsed, parsed, pieces

ALL_MOST: Final = 12_000
"""Characters of all blocks of a message: about 13,200 are `msg_blocks_too_long` (bolt-js#2509), and
12,000 is the limit of its `markdown` blocks."""
ELEMENT: Final = 20
"""Characters that each block and element counts besides: Slack counts such a thing, and does not tell
how much (rich text of 11,341 characters was refused, bolt-js#2867)."""
BLOCKS_MOST: Final = 50
CONTEXT_MOST: Final = 10
"""Elements of a context."""
ACTIONS_MOST: Final = 25
PLAIN_TEXTS: Final = frozenset({"text", "alt_text", "title", "url", "value", "accessibility_label"})


class Dialect(IntEnum):
    """How much of Block Kit a Slack takes; each step is plainer than the one before."""

    WHOLE = 0
    RICH = 1
    """Without blocks that not every workspace has: markdown, plan, table."""
    PLAIN = 2
    """Sections alone."""
    WORDS = 3
    """No blocks at all."""


def of_text(markdown: str, dialect: Dialect = Dialect.WHOLE) -> list[Block]:
    """A text as blocks."""
    if not markdown.strip():
        return []
    text = parsed(markdown)
    one = _one_line(text)
    if one:
        return [section(one)]
    if dialect >= Dialect.PLAIN:
        return [section(part) for part in mrkdwn.sections(text)]
    if dialect is Dialect.WHOLE and reads_alike(text):
        return [{"type": "markdown", "text": text.source.strip("\n")}]
    return richtext.blocks(text, plainly=dialect is not Dialect.WHOLE)


def section(text: str) -> Block:
    """A section of mrkdwn, in which Slack looks for nothing that is not marked."""
    return {"type": "section", "text": _mrkdwn(text), "expand": True}


def context(*texts: str) -> Block:
    """Small lines of mrkdwn."""
    return {"type": "context", "elements": [_mrkdwn(text) for text in texts[:CONTEXT_MOST]]}


def plain_text(text: str) -> Block:
    """A text that is shown as it is."""
    return {"type": "plain_text", "text": text, "emoji": True}


def size(blocks: Sequence[Block]) -> int:
    """Characters of text in blocks, as escaped."""
    return sum(_size(block) for block in blocks)


def fits(blocks: Sequence[Block]) -> bool:
    """Whether a message can hold them."""
    return len(blocks) <= BLOCKS_MOST and size(blocks) <= ALL_MOST


def cut(text: str, most: int) -> str:
    """The text, or as much of it as `most` characters hold; no letter is torn from its marks."""
    if len(text) <= most:
        return text
    shown = text[: most - 1]
    while shown and _is_bound(text[len(shown)], shown[-1]):
        shown = shown[:-1]
    return f"{shown.rstrip()}…"


def cut_escaped(text: str, most: int = SECTION_MOST) -> str:
    """The mrkdwn, or as much of it as `most` characters hold; no link or entity is torn."""
    if len(text) <= most:
        return text
    shown = text[: most - 1]
    opened = shown.rfind("<")
    if opened > shown.rfind(">"):
        shown = shown[:opened]
    return f"{_TORN.sub('', shown).rstrip()}…"


def reads_alike(text: Parsed) -> bool:
    """Whether Slack's `markdown` block shows the text as our parser read it, and calls nobody.

    It reads `<...>` and entities in its own way, and dialects of Markdown differ in the rest:
    https://docs.slack.dev/reference/block-kit/blocks/markdown-block
    """
    if text.tokens is None or text.is_mended or len(text.source) > ALL_MOST:
        return False
    if _STRANGE.search(text.source):
        return False
    return all(_is_common(token) for token in text.tokens)


def _is_common(token: Token) -> bool:
    match token.type:
        case "fence":
            return token.markup.startswith("`") and token.level == 0
        case "heading_open":
            return token.markup.startswith("#")
        case "ordered_list_open":
            return token.markup == "." and not token.attrs
        case "inline":
            children = token.children or ()
            # Signs that dialects take for marks, or do not, are in no text.
            return all(_is_common_inline(child) for child in children) and (
                mrkdwn.is_plain_sailing(pieces(children))
            )
        case _:
            return token.type in _COMMON


def _is_common_inline(child: Token) -> bool:
    if child.type == "text":
        return not child.content.startswith(("☐ ", "☑ "))
    is_link = child.type == "link_open"
    return child.type in _INLINE and (
        not is_link or str(child.attrs.get("href", "")).startswith(("https://", "http://"))
    )


def _one_line(text: Parsed) -> str:
    """The mrkdwn of a single paragraph, where that says exactly the same; else nothing."""
    tokens = text.tokens or ()
    if [token.type for token in tokens] != ["paragraph_open", "inline", "paragraph_close"]:
        return ""
    found = pieces(tokens[1].children or ())
    said = mrkdwn.of_pieces(found) if mrkdwn.is_plain_sailing(found) else ""
    return said if said.strip() and len(said) <= SECTION_MOST else ""


def _mrkdwn(text: str) -> Block:
    # Not `verbatim`, Slack would look for names of channels and people in it.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _size(part: Any) -> int:
    if isinstance(part, list):
        return sum(_size(one) for one in part)
    if not isinstance(part, dict):
        return 0
    is_mrkdwn = part.get("type") in ("mrkdwn", "markdown")
    own = sum(
        len(value if is_mrkdwn else escaped(value))
        for name, value in part.items()
        if name in PLAIN_TEXTS and isinstance(value, str)
    )
    container = ELEMENT if part.get("type") in _CONTAINERS else 0
    return container + own + sum(_size(value) for value in part.values())


def _is_bound(next_letter: str, letter: str) -> bool:
    """Whether two letters are parts of one sign."""
    return next_letter in _BINDING or letter == "\N{ZERO WIDTH JOINER}"


_CONTAINERS: Final = frozenset(
    {
        "section", "context", "header", "divider", "actions", "markdown", "rich_text", "table",
        "plan", "rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted",
        "text", "link", "raw_text", "task_card", "button",
    }
)  # fmt: skip
_TORN: Final = re.compile(r"&[a-z]{0,3}$")
_BINDING: Final = frozenset(
    [chr(code) for code in (0x200D, 0xFE0E, 0xFE0F, *range(0x1F3FB, 0x1F400))]
    + [chr(code) for code in range(0x300, 0x370)]
)
_STRANGE: Final = re.compile(
    r"""
    [<&\\|\u2060]                           # entities, tags, escapes, tables
    | (?m:^(?![ >]*>\ )[^\n]*>)             # `>` that begins no quotation
    | @(?:here|channel|everyone|group)\b
    | @[A-Z0-9]{6,}
    | :[a-z0-9_+'-]+:                       # becomes an emoji
    | (?m:^\s*\[[^\]\n]+\]:)                # addresses of links further down
    | ~~~ | (?m:^\t) | __
    """,
    re.VERBOSE | re.IGNORECASE,
)
_COMMON: Final = frozenset(
    {
        "paragraph_open", "paragraph_close", "bullet_list_open", "bullet_list_close",
        "ordered_list_close", "list_item_open", "list_item_close", "blockquote_open",
        "blockquote_close", "heading_close",
    }
)  # fmt: skip
_INLINE: Final = frozenset(
    {
        "code_inline", "strong_open", "strong_close", "em_open", "em_close", "s_open", "s_close",
        "link_open", "link_close",
    }
)  # fmt: skip
