"""
Tokens of Markdown as blocks of rich text: what stands in them is shown as it is, nothing is read. Pure.

Rule 1: code is byte for byte, whatever it holds.
Rule 2: headings are headers, tables are tables where Slack takes one, else columns of letters of one
        width.
Rule 3: no element is empty: Slack refuses the whole message for one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it.token import Token

from adapters.slack.elements import Block, elements, preformatted, rich, shown, text
from adapters.slack.tables import Table
from adapters.slack.text import Parsed, Piece, pieces

HEADER_MOST: Final = 150
"""Characters of a header. https://docs.slack.dev/reference/block-kit/blocks/header-block"""
INDENT_MOST: Final = 8
RULE: Final = "———"


def blocks(given: Parsed, *, plainly: bool = False) -> list[Block]:
    """A whole text.

    Args:
        plainly: without tables and dividers, for a Slack that takes none.
    """
    page = _Page(plainly=plainly)
    if given.tokens is None:
        page.say([text(given.source)])
    for token in given.tokens or ():
        page.take(token)
    return page.done()


def plain_of(tokens: Sequence[Token]) -> Iterator[str]:
    """The paragraphs, items and code of a text without any markup, as lines."""
    marks: list[str] = []
    row: list[str] | None = None
    for token in tokens:
        match token.type:
            case "bullet_list_open":
                marks.append("• ")
            case "ordered_list_open":
                marks.append(f"{int(token.attrs.get('start', 1) or 0)}. ")
            case "bullet_list_close" | "ordered_list_close":
                marks.pop()
            case "tr_open":
                row = []
            case "tr_close":
                yield " | ".join(row or ())
                row = None
            case "inline" if row is not None:
                row.append(shown(pieces(token.children or ())))
            case "inline":
                yield (marks[-1] if marks else "") + shown(pieces(token.children or ()))
                if marks and marks[-1][0].isdigit():
                    marks[-1] = f"{int(marks[-1][:-2]) + 1}. "
            case "fence" | "code_block":
                yield token.content.removesuffix("\n")
            case _:
                pass


class _Page:
    """Writes blocks; `_parts` are those of the rich text that is being written."""

    def __init__(self, *, plainly: bool) -> None:
        self._plainly = plainly
        self._done: list[Block] = []
        self._parts: list[Block] = []
        self._inside: list[_Item | _Quote] = []
        self._lists: list[_List] = []
        self._heading = False
        self._table: Table | None = None
        self._has_table = plainly

    def done(self) -> list[Block]:
        self._end_rich()
        return self._done

    def take(self, token: Token) -> None:
        match token.type:
            case "inline":
                self._inline(pieces(token.children or ()), token)
            case "fence" | "code_block":
                self._parts += preformatted(token.content)
            case "hr":
                self._rule()
            case "heading_open" | "heading_close":
                self._heading = token.nesting > 0
            case "bullet_list_open" | "ordered_list_open":
                self._lists.append(_List(len(self._lists), _start(token)))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._inside.append(self._lists[-1].next())
            case "blockquote_open":
                self._inside.append(_Quote())
            case "list_item_close" | "blockquote_close":
                self._inside.pop()
            case _:
                self._of_table(token)

    def say(self, found: list[Block]) -> None:
        """A paragraph of its own, a line apart from the one before."""
        last = self._parts[-1] if self._parts else None
        if last is not None and last["type"] == "rich_text_section":
            last["elements"] += [text("\n\n"), *found]
        elif found:
            self._parts.append({"type": "rich_text_section", "elements": found})

    def _inline(self, found: Sequence[Piece], token: Token) -> None:
        if not found:
            return
        if self._table is not None:
            self._table.rows[-1].append(tuple(found))
            return
        inside = self._inside[-1] if self._inside else None
        if self._heading:
            self._head(found, is_top=inside is None)
        elif isinstance(inside, _Item):
            self._item(inside, elements(found))
        elif isinstance(inside, _Quote):
            self._quote(elements(found))
        else:
            self.say(elements(found))

    def _head(self, found: Sequence[Piece], *, is_top: bool) -> None:
        text = " ".join("".join(piece.text or piece.url for piece in found).split())
        if is_top and text and len(text) <= HEADER_MOST:
            self._end_rich()
            self._done.append({"type": "header", "text": {"type": "plain_text", "text": text}})
            return
        bold = [Piece(one.text, one.url, one.styles | {"bold"}) for one in found]
        inside = self._inside[-1] if self._inside else None
        if isinstance(inside, _Item):
            self._item(inside, elements(bold))
        else:
            self.say(elements(bold))

    def _item(self, item: "_Item", found: list[Block]) -> None:
        """The first paragraph of an item begins it, a further one stands below."""
        last = self._parts[-1] if self._parts else None
        if item.section is not None and item.part is last:
            item.section["elements"] += [text("\n"), *found]
            return
        indent = "    " * (item.of.depth + 1)
        if item.section is not None:
            self.say([text(indent), *found])
            return
        section: Block = {"type": "rich_text_section", "elements": found}
        item.section, item.part = section, item.of.part
        if item.part is not None and item.part is last and item.counts_on(item.part):
            item.part["elements"].append(section)
        elif item.number in (None, 1):
            item.part = item.of.begin(section)
            self._parts.append(item.part)
        else:
            # Slack would count it anew.
            mark = text(f"{'    ' * item.of.depth}{item.number}. ")
            section["elements"] = [mark, *found]
            item.part = section
            self._parts.append(section)

    def _quote(self, found: list[Block]) -> None:
        last = self._parts[-1] if self._parts else None
        if last is not None and last["type"] == "rich_text_quote":
            last["elements"] += [text("\n\n"), *found]
        else:
            self._parts.append({"type": "rich_text_quote", "elements": found})

    def _rule(self) -> None:
        if self._plainly:
            self.say([text(RULE)])
        else:
            self._end_rich()
            self._done.append({"type": "divider"})

    def _of_table(self, token: Token) -> None:
        match token.type:
            case "table_open":
                self._table = Table()
            case "tr_open" if self._table is not None:
                self._table.rows.append([])
            case "th_open" | "td_open" if self._table is not None:
                self._table.begin_cell(str(token.attrs.get("style", "")))
            case "th_close" | "td_close" if self._table is not None:
                self._table.end_cell()
            case "table_close" if self._table is not None:
                self._end_table(self._table)
                self._table = None
            case _:
                pass

    def _end_table(self, table: "Table") -> None:
        if self._has_table or not table.fits:
            self._parts += preformatted(table.text)
            return
        self._has_table = True
        self._end_rich()
        self._done.append(table.block)

    def _end_rich(self) -> None:
        if self._parts:
            self._done.append(rich(self._parts))
            self._parts = []


class _List:
    """One that is open; `part` is the element that its last item stands in."""

    def __init__(self, depth: int, start: int | None) -> None:
        """`start`: the number of its first item; None: it is not counted."""
        self.depth, self.start = depth, start
        self.part: Block | None = None
        self._items = 0

    def next(self) -> "_Item":
        """Its next item."""
        number = None if self.start is None else self.start + self._items
        self._items += 1
        return _Item(self, number)

    def begin(self, section: Block) -> Block:
        """A new element of it, with its first item."""
        style = "bullet" if self.start is None else "ordered"
        indent = {"indent": min(self.depth, INDENT_MOST)} if self.depth else {}
        self.part = {"type": "rich_text_list", "style": style, "elements": [section], **indent}
        return self.part


class _Item:
    """An item of a list; `section` is its first paragraph once it is there, `part` what it stands in."""

    def __init__(self, of: _List, number: int | None) -> None:
        self.of, self.number = of, number
        self.section: Block | None = None
        self.part: Block | None = None

    def counts_on(self, part: Block) -> bool:
        """Whether Slack, which counts from 1 in each list, gives it its number behind those."""
        return part["type"] == "rich_text_list" and (
            self.number is None or self.number == len(part["elements"]) + 1
        )


class _Quote:
    """A quotation that is open."""


def _start(token: Token) -> int | None:
    is_counted = token.type == "ordered_list_open"
    return int(token.attrs.get("start", 1)) if is_counted else None
