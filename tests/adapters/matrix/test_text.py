"""Markdown as HTML and as a plain body."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.matrix.text import JOINER, MOST_NESTED, line, written
from tests.adapters.matrix.page import Page

NAMES = ("@headway:example.org", "headway", "Headway")


@pytest.mark.parametrize(
    ("markdown", "html", "plain"),
    [
        ("**bold** and *slanted*", "<p><strong>bold</strong> and <em>slanted</em></p>",
         "bold and slanted"),
        ("~~gone~~", "<p><del>gone</del></p>", "gone"),
        ("one\ntwo", "<p>one<br>two</p>", "one\ntwo"),
        ("# Title\ntext", "<h1>Title</h1><p>text</p>", "Title\n\ntext"),
        ("- one\n- two\n  - three", "<ul><li>one</li><li>two<ul><li>three</li></ul></li></ul>",
         "- one\n- two\n  - three"),
        ("3. c\n4. d", '<ol start="3"><li>c</li><li>d</li></ol>', "3. c\n4. d"),
        ("> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>",
         "> a\n>\n> > b"),
        ("- [ ] open\n- [x] done", "<ul><li>☐ open</li><li>☑ done</li></ul>", "- ☐ open\n- ☑ done"),
        ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>", "a\n\n———\n\nb"),
        ("`a  <b> & **c**`", "<p><code>a  &lt;b&gt; &amp; **c**</code></p>", "`a  <b> & **c**`"),
        ("`` a`b ``", "<p><code>a`b</code></p>", "``a`b``"),
        ("[label](https://x.org/a_b)", '<p><a href="https://x.org/a_b">label</a></p>',
         "label (https://x.org/a_b)"),
        ("<https://x.org>", '<p><a href="https://x.org">https://x.org</a></p>', "https://x.org"),
        ("<ann@x.org>", '<p><a href="mailto:ann@x.org">ann@x.org</a></p>', "ann@x.org"),
        ("[the report](out/report.md)", "<p>the report (out/report.md)</p>",
         "the report (out/report.md)"),
        ("[report.md](report.md)", "<p>report.md</p>", "report.md"),
        ("![a chart](https://x.org/c.png)", '<p><a href="https://x.org/c.png">a chart</a></p>',
         "a chart (https://x.org/c.png)"),
        ("[](https://x.org)", '<p><a href="https://x.org">https://x.org</a></p>', "https://x.org"),
        ("<b>raw</b> <script>x</script>",
         "<p>&lt;b&gt;raw&lt;/b&gt; &lt;script&gt;x&lt;/script&gt;</p>",
         "<b>raw</b> <script>x</script>"),
        ("<div>\nblock\n</div>", "<p>&lt;div&gt;<br>block<br>&lt;/div&gt;</p>",
         "<div>\nblock\n</div>"),
        ("**Note:**this and **that**", "<p><strong>Note:</strong>this and <strong>that</strong></p>",
         "Note:this and that"),
        (r"\*\*kept\*\*", "<p>**kept**</p>", "**kept**"),
        ("2 ** 3", "<p>2 ** 3</p>", "2 ** 3"),
        ("x&amp;y &lt;b&gt;", "<p>x&amp;y &lt;b&gt;</p>", "x&y <b>"),
    ],
)  # fmt: skip
def test_a_text_is_written_twice(markdown: str, html: str, plain: str) -> None:
    found = written(markdown)

    assert found.html == html
    assert found.plain == plain


def test_code_is_byte_for_byte_in_both_bodies() -> None:
    code = 'def f(x):\n\treturn "<b>&amp; **x** @room @ann:x.org"  # \n\n\n  ```\n'

    found = written(f"Look:\n\n````python\n{code}````\n\nDone.")

    assert Page(found.html).code == [code]
    assert '<code class="language-python">' in found.html
    assert f"````python\n{code}````" in found.plain


def test_a_language_that_is_no_word_is_left_out() -> None:
    found = written('```"><script>\nx\n```')

    assert "<pre><code>x\n</code></pre>" in found.html


def test_a_table_is_a_table_and_aligned_where_there_is_no_html() -> None:
    found = written("| a | much |\n|---|--:|\n| `x` | **1** |\n| 日本 | |\n")

    assert "<td><code>x</code></td><td><strong>1</strong></td>" in found.html
    assert found.plain == "a    | much\n-----+-----\n`x`  | 1\n日本 |"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd",
                                 "vbscript:x", "//x.org/a", "JaVaScRiPt:x", "https:evil\x00"])  # fmt: skip
def test_a_link_leads_to_the_web_and_to_mail_alone(url: str) -> None:
    for markdown in (f"[here]({url})", f"<{url}>", f"![here]({url})", f"[here][1]\n\n[1]: {url}"):
        page = Page(written(markdown).html)
        assert all(link.startswith("https:") for link in page.links)


@pytest.mark.parametrize(
    "called",
    ["@room", "@ROOM look", "@ann:example.org", "**@room**", "@*room*", "(@ann:example.org)", "@Headway",
     "Headway: stop", "headway, stop", "[x](https://matrix.to/#/@ann:example.org)",
     "[x](https://matrix.to/#/%40ann%3Aexample.org)", "<https://matrix.to/#/@ann:example.org>",
     "# @room", "- @room", "| @room |\n|---|\n| @ann:example.org |", "![@room](https://x.org)"],
)  # fmt: skip
def test_nobody_is_called(called: str) -> None:
    found = written(called, NAMES)

    call = re.compile(r"@room|@ann:|@headway\b|^headway[:,]", re.IGNORECASE | re.MULTILINE)
    assert not call.search(found.plain)
    page = Page(found.html)
    assert not any("ann" in link for link in page.links)
    if "*room" not in called:
        assert not call.search(page.text)


@pytest.mark.parametrize(
    "harmless",
    [
        "a room",
        "mail ann@example.org now",
        "@roommate",
        "Headway is at work",
        "`@room`",
        "git@github.com:org/repo",
    ],
)
def test_what_calls_nobody_stays_as_it_is(harmless: str) -> None:
    found = written(harmless, NAMES)

    assert found.plain == harmless
    assert JOINER not in found.html


def test_what_obeys_a_terminal_or_turns_the_order_is_made_visible() -> None:
    found = written("a\x1b[31mb\u202ec\ud800d\x00 `\u2066`")

    assert found.plain == "a�[31mb�c�d� `�`"
    found.html.encode()


def test_a_line_has_no_blocks_and_no_line_ends() -> None:
    found = line("# `resume`\n\n- goes **on**", NAMES)

    assert found.html == "# <code>resume</code> - goes <strong>on</strong>"
    assert found.plain == "# `resume` - goes on"


def test_what_nests_deeper_than_the_parser_goes_is_shown_as_it_was_written() -> None:
    text = "> " * (MOST_NESTED + 5) + "deep\nand\n\n- " * 2

    found = written(text, NAMES)

    assert found.plain == text
    Page(found.html)


PIECES = st.sampled_from(
    ["*", "**", "_", "`", "```\n", "~~", "[", "](", ")", "<", ">", "> ", "- ", "1. ", "\n", "\n\n",
     "|", "|-|\n", "#", " ", "\\", "&", "&lt;", "!", "![", "@room", "@a:b", "https://x.org", "<b>",
     "[ ] ", "[x] ", "    ", "\t", "---\n", "===\n", "word", "日", "\u202e", "\x00", "\ud800", "\r\n",
     "<!--", "<?", "<![CDATA[", "Headway: "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200))
def test_whatever_is_written_the_html_is_what_clients_show(text: str) -> None:
    found = written(text, NAMES)

    Page(found.html)
    found.html.encode()
    found.plain.encode()
    one = line(text, NAMES)
    Page(one.html)
    assert "\n" not in one.plain


@given(st.lists(PIECES.filter(lambda piece: piece.strip("`\n\t ")), max_size=60).map("".join))
def test_whatever_is_written_nobody_is_called_where_there_is_no_code(text: str) -> None:
    found = written(text, NAMES)

    if "<code>" not in found.html:
        # After a letter it is an address of mail or of git, and no client takes it for a call.
        assert not re.search(r"(?<!\w)@a:b", found.plain)
        assert not re.search(r"(?<!\w)@room\b", found.plain)


@given(st.text(alphabet="abc xyz.,;é日\n", max_size=300))
def test_words_without_marks_stay_in_both(text: str) -> None:
    found = written(text)

    assert found.plain.split() == text.split()
    assert (
        Page(found.html.replace("<br>", " ").replace("</p>", " </p>")).text.split() == text.split()
    )


@pytest.mark.parametrize(
    "bomb",
    ["[", "![", "*", "*a ", "a**b", "*a_", "**x* ", "` ", "> ", "- ", "[a](", "<", "<a ", "&", "[[]",
     "[a][", "a]", "\t", '[a](b "', "a\n=\n", "|-\n", "a|b\n-|-\n", "_*", "**a ", "** a", "@", "@a", "@a:",
     "@room", "|", "1. ", "[x] ", "- [x] a\n", "```\n", "~~a ", "<!--", "\\", "a\n\n", "@a.b"],
)  # fmt: skip
def test_a_text_of_thirty_thousand_marks_takes_no_time(bomb: str) -> None:
    text = (bomb * 30_000)[:30_000]

    began = time.process_time()
    found = written(text, NAMES)
    took_s = time.process_time() - began

    Page(found.html)
    assert took_s < 6.0


def test_a_table_of_many_empty_cells_is_not_blown_up() -> None:
    text = "|" + "a|" * 900 + "\n|" + "-|" * 900 + "\n" + "|\n" * 10_000

    found = written(text)

    assert len(found.plain) < 1_000_000
