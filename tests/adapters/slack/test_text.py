"""Markdown as blocks of Slack: nobody is called, code is whole, and Slack takes it all."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.slack import blocks as kit
from adapters.slack import mrkdwn
from adapters.slack.blocks import ALL_MOST, Dialect
from adapters.slack.mrkdwn import SECTION_MOST
from adapters.slack.text import JOINER, line, parsed
from bot.ports.plain import printable
from tests.peers.slack_schemas import faults_of_call

CALLS = ("<!channel>", "<!here|x>", "<@U01ALICE>", "<!subteam^S1|@ops>", "<#C01GEN>", "@channel",
         "@here", "@everyone", "@channel_", "_@here_", "&lt;!here&gt;", "<https://x.example|bank>", "<mailto:a@b.c|x>")  # fmt: skip
LETTERS = "שלום مرحبا \u202eabc\u202c 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 👍🏽 \u200b字 ￼\x00\x1b"
PARTS = st.one_of(
    st.sampled_from([
        *CALLS, "# Head\n", "## Two\n\n", "- one\n- two\n  - three\n", "1. a\n2. b\n\n   c\n3. d\n",
        "7. seven\n", "> quoted\n> > twice\n", "```py\nx = '`'\n```\n", "```\n", "    indented\n",
        "**bold**", "*it*", "~~s~~", "`code`", "``a`b``", "**Note:**this", "[label](https://x.y/a?b=1&c=2)",
        "[file](report.md)", "[](https://x.y)", "![pic](https://x.y/p.png)", "![](x)", "<b>html</b>",
        "<script>x</script>\n", "| a | b |\n|---|:-:|\n| 1 | **2** |\n", "---\n", "- [ ] todo\n- [x] done\n",
        "https://example.com/x?a=1&b=2.", "https://x.example/@", "\\*", "\n\n", "\n", " ", "&amp;", "5 < 6 > 4 & 7", ":tada:",
        "javascript:alert(1)", "[x](javascript:alert(1))", "*", "_", "~", "`", LETTERS,
    ]),
    st.text(max_size=40),
)  # fmt: skip
MARKDOWN = st.lists(PARTS, max_size=25).map("".join)


def faults(blocks: list[dict[str, Any]]) -> list[str]:
    return faults_of_call("chat.postMessage", {"channel": "C01GEN", "text": "x", "blocks": blocks})


def texts(part: Any) -> str:
    """All text in blocks, as Slack would show it to nobody in particular."""
    if isinstance(part, list):
        return "\n".join(texts(one) for one in part)
    if not isinstance(part, dict):
        return ""
    own = str(part["text"]) if isinstance(part.get("text"), str) else ""
    return own + "\n".join(texts(value) for value in part.values())


def spoken(part: Any) -> str:
    """All text in blocks but code, in which nothing is read."""
    if isinstance(part, list):
        return "\n".join(spoken(one) for one in part)
    if not isinstance(part, dict) or part.get("type") == "rich_text_preformatted":
        return ""
    if part.get("style") == {"code": True} or "```" in str(part.get("text")):
        return ""
    own = re.sub("`[^`]*`", "", part["text"]) if isinstance(part.get("text"), str) else ""
    return own + "\n".join(spoken(value) for value in part.values())


def live(part: Any) -> str:
    """The texts in which Slack reads marks of its own."""
    if isinstance(part, list):
        return "\n".join(live(one) for one in part)
    if not isinstance(part, dict):
        return ""
    if part.get("type") in ("mrkdwn", "markdown"):
        return str(part["text"])
    return "\n".join(live(value) for value in part.values())


@settings(max_examples=120, deadline=None)
@example("https://example.com/x?a=1&b=2.@channel", Dialect.WHOLE)
@given(MARKDOWN, st.sampled_from(list(Dialect)))
def test_whatever_is_written_slack_takes_it_and_nobody_is_called(
    text: str, dialect: Dialect
) -> None:
    blocks = kit.of_text(text, dialect)

    read = live(blocks)
    assert not re.search(r"<(?!https?://|mailto:)", read)
    assert not re.search(r"(?<!\w)@(?:here|channel|everyone)\b", spoken(blocks), re.IGNORECASE)
    assert not any(one in json.dumps(blocks) for one in ('"user"', '"broadcast"', '"usergroup"'))
    if kit.fits(blocks) and blocks:
        assert faults(blocks) == []


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=400), st.integers(0, 2))
def test_code_is_letter_for_letter_as_it_was(code: str, blank: int) -> None:
    whole = code.replace("\u2028", "").replace("\u2029", "") + "\n" * blank + "end"
    fence = "`" * 9

    for dialect in (Dialect.WHOLE, Dialect.RICH):
        blocks = kit.of_text(f"Before it.\n\n{fence}\n{whole}\n{fence}\n\nAfter.", dialect)

        shown = _code_in(blocks)
        assert [shown] == [printable(whole)]


def _code_in(blocks: list[dict[str, Any]]) -> str:
    for block in blocks:
        if block["type"] == "markdown":
            return str(block["text"]).split("`" * 9)[1].removeprefix("\n").removesuffix("\n")
        for element in block.get("elements", ()):
            if element["type"] == "rich_text_preformatted":
                return str(element["elements"][0]["text"])
    return ""


def test_plain_answers_are_left_to_slacks_own_markdown() -> None:
    text = "## Result\n\nAll **good**, see [the log](https://x.y):\n\n- one `x`\n- two\n\n```py\nprint(1)\n```"

    assert kit.of_text(text) == [{"type": "markdown", "text": text}]


@pytest.mark.parametrize("strange", [
    "a < b", "a & b", "@here", ":tada:", "**Note:**this", "- [ ] task", "| a |\n|---|\n| b |",
    "one\ntwo", "***\n", "![p](https://x.y/p.png)", "[a][b]\n\n[b]: https://x.y", "    code",
    "3. three", "~~~\ncode\n~~~", "\\*", "<https://x.y>",
])  # fmt: skip
def test_what_slack_may_read_in_another_way_is_rich_text(strange: str) -> None:
    blocks = kit.of_text(f"# A\n\n{strange}\n")

    assert "markdown" not in [block["type"] for block in blocks]
    assert faults(blocks) == []


def test_one_line_is_a_section_with_its_links_and_styles() -> None:
    [block] = kit.of_text("Just **one** `a<b`, see [the log](https://x.y/?a=1&b=2).")

    assert block["text"]["text"] == "Just *one* `a&lt;b`, see <https://x.y/?a=1&amp;b=2|the log>."
    assert block["text"]["verbatim"] is True


@pytest.mark.parametrize("text", ["2 * 3 * 4", "snake_case_ _x_name", "pre**fix**ed", "`a``b`"])
def test_a_line_whose_signs_mrkdwn_would_take_for_marks_is_rich_text(text: str) -> None:
    [block] = kit.of_text(text)

    assert block["type"] == "rich_text"


def test_bold_never_shows_its_stars() -> None:
    blocks = kit.of_text("**Note:**this is it\n\n**太字**です")

    assert "**" not in texts(blocks)
    assert json.dumps(blocks, ensure_ascii=False).count('"bold": true') == 2


def test_a_list_that_something_stands_in_keeps_its_numbers() -> None:
    blocks = kit.of_text("1. one\n   - in it\n2. two\n\n   ```\n   code\n   ```\n3. three\n")

    [block] = blocks
    kinds = [part["type"] for part in block["elements"]]
    assert kinds == [
        "rich_text_list", "rich_text_list", "rich_text_section", "rich_text_preformatted",
        "rich_text_section",
    ]  # fmt: skip
    assert [part["elements"][0].get("text") for part in block["elements"]][2::2] == ["2. ", "3. "]


def test_a_table_is_a_table_and_a_second_one_columns() -> None:
    table = "| name | n |\n|---|--:|\n| `a` | 1 |\n| | 22 |\n"

    first, second = kit.of_text(f"{table}\n{table}")

    assert first["type"] == "table"
    assert first["column_settings"][1] == {"align": "right", "is_wrapped": True}
    assert first["rows"][2] == [
        {"type": "raw_text", "text": " "},
        {"type": "raw_text", "text": "22"},
    ]
    assert texts(second).strip() == "name | n\n-----+---\na    | 1\n     | 22"
    assert faults([first, second]) == []


def test_a_table_of_more_rows_than_slack_takes_is_columns() -> None:
    rows = "".join(f"| {n} | x |\n" for n in range(100))

    [block] = kit.of_text(f"| a | b |\n|---|---|\n{rows}")

    assert block["elements"][0]["type"] == "rich_text_preformatted"


def test_a_link_that_leads_nowhere_shows_where_it_was_to_lead() -> None:
    found = line("[report](report.md) [y](https://x.y)")

    assert "".join(piece.text for piece in found) == "report (report.md) y"
    assert [piece.url for piece in found if piece.url] == ["https://x.y"]


def test_a_picture_is_a_link_that_nobodys_client_fetches() -> None:
    blocks = kit.of_text("# A\n\n![the graph](https://x.y/p.png)")

    assert blocks[1]["elements"][0]["elements"] == [
        {"type": "link", "url": "https://x.y/p.png", "text": "the graph"}
    ]


def test_what_nests_too_deep_is_shown_as_it_was_written() -> None:
    text = ">" * 500 + " deep " + "- " * 300

    assert parsed(text).tokens is None
    for dialect in Dialect:
        assert "deep" in texts(kit.of_text(text, dialect))


@settings(max_examples=60, deadline=None)
@given(
    st.text("abc &<>`\n 👩‍👩‍👧\u0301", min_size=1, max_size=300),
    st.integers(0, 30),
    st.integers(80, 400),
)
def test_a_text_that_is_cut_tears_no_entity_and_loses_no_letter(
    text: str, times: int, most: int
) -> None:
    whole = mrkdwn.escaped(text * times)

    parts = list(mrkdwn.cut(whole, most))

    assert all(len(part) <= most for part in parts)
    assert all(not re.search(r"&(?!amp;|lt;|gt;)", part) for part in parts)
    assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", whole)


@pytest.mark.parametrize("lines", [1, 300, 10_000])
def test_code_that_is_cut_is_closed_and_opened_again(lines: int) -> None:
    code = "".join(f"line {n} <&> of the code\n" for n in range(lines))

    parts = list(mrkdwn.fenced(code))

    assert all(part.startswith("```\n") and part.endswith("\n```") for part in parts)
    assert all(len(part) <= SECTION_MOST for part in parts)
    assert "\n".join(part[4:-4] for part in parts) == mrkdwn.escaped(code.rstrip("\n"))


@pytest.mark.parametrize("letter", ["x", "&", "<", "é", "字", "👩‍👩‍👧‍👦", "`", "\\", " x"])
@pytest.mark.parametrize("size", [2_999, 3_000, 3_001, 11_990, 12_000, 12_001])
def test_texts_at_and_over_each_limit_are_taken_or_known_to_be_too_long(
    letter: str, size: int
) -> None:
    text = (letter * size)[:size]

    for dialect in Dialect:
        blocks = kit.of_text(text, dialect)

        if kit.fits(blocks):
            assert faults(blocks) == []
        else:
            assert kit.size(blocks) > ALL_MOST or len(blocks) > kit.BLOCKS_MOST


def test_ten_thousand_lines_of_code_are_laid_out_in_no_time() -> None:
    text = "```\n" + "a line of code\n" * 10_000 + "```"

    for dialect in Dialect:
        assert not kit.fits(kit.of_text(text, dialect))


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("ask <@T01TEST:U02BOB|bob_b> about it", "ask @bob_b about it"),
        ("**<@E01ORG:U02BOB|Bo B.>**: yes", "@Bo B."),
        ("<@T01TEST:U02BOB>", "@U02BOB"),
        (
            "<@T01TEST:U02BOB|here> and <@T01TEST:U02BOB|channel>",
            f"@{JOINER}here and @{JOINER}channel",
        ),
    ],
)
def test_people_who_are_mentioned_stand_there_by_name(
    said: str, shown: str, dialect: Dialect
) -> None:
    for words in (said, f"{said}\n\n- {said}"):
        told = spoken(kit.of_text(words, dialect))

        if dialect is not Dialect.PLAIN:
            assert shown in told
        assert "T01TEST" not in told
        assert not re.search(r"(?<!\w)@(?:here|channel)\b", told)
