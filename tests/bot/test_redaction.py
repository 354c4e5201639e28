"""Known values are taken out however they are written, and nothing else is."""

import base64
import html
import json
import random
import re
import string
import textwrap
import time
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.goals.goal import State
from bot.redaction import LEAST, Redactor, forms, mark

KEY = "sk-ant-api03-8s/Fq+Zk3=w\"x'y&<z>%é"
BASIC = "user:" + KEY


def escaped(text: str, which: str, form: str) -> str:
    """JSON whose writer escapes these, too."""
    return "".join(
        form.format(ord(sign)) if sign in which else json.dumps(sign, ensure_ascii=False)[1:-1]
        for sign in text
    )


WRITTEN = {
    "as it is": KEY,
    "in a URL": quote(KEY, safe=""),
    "in a URL's path": quote(KEY),
    "in a form": quote_plus(KEY),
    "in a URL, lower case": re.sub("%..", lambda m: m[0].lower(), quote(KEY, safe="")),
    "in JSON": json.dumps({"key": KEY}),
    "in JSON with letters": json.dumps({"key": KEY}, ensure_ascii=False),
    "in JSON of PHP": json.dumps(KEY).replace("/", "\\/"),
    "in JSON of Go": escaped(KEY, "<>&", "\\u{:04x}"),
    "in JSON of Gson": escaped(KEY, "<>&'=", "\\u{:04x}"),
    "in JSON of .NET": escaped(KEY, "\"<>&'+`é", "\\u{:04X}"),
    "in HTML": html.escape(KEY),
    "in a Python error": repr({"key": KEY}),
    "in base64": base64.b64encode(KEY.encode()).decode(),
    "in a header": "Basic " + base64.b64encode(BASIC.encode()).decode(),
    "in base64 of a file": base64.b64encode(f"a\nKEY={KEY}\nb\n".encode()).decode(),
    "in base64 for URLs": base64.urlsafe_b64encode(f"xy{KEY}z".encode()).decode(),
    "in wrapped base64": textwrap.fill(base64.b64encode(f"x{KEY}z".encode()).decode(), 17),
    "in hex": KEY.encode().hex(),
    "in upper case hex": KEY.encode().hex().upper(),
    "in hex with colons": KEY.encode().hex(":"),
    "in upper case hex with dashes": KEY.encode().hex("-").upper(),
    "in hex with blanks": KEY.encode().hex(" "),
    "in escapes": "".join(f"\\x{byte:02x}" for byte in KEY.encode()),
    "as numbers in C": ", ".join(f"0x{byte:02X}" for byte in KEY.encode()),
    "with every byte percent-encoded": "".join(f"%{byte:02X}" for byte in KEY.encode()),
    "in hex of a dump": textwrap.fill(KEY.encode().hex(), 60),
    "with accents apart": unicodedata.normalize("NFD", KEY),
    "wrapped": f"{KEY[:9]}\n    {KEY[9:20]}\r\n{KEY[20:]}",
    "twice": f"{KEY}{KEY}",
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_value_is_taken_out_as_it_is_written(how: str) -> None:
    written = WRITTEN[how]

    told = Redactor({"api_key": KEY}).text(f"before {written} after")

    assert mark("api_key") in told
    assert told.startswith("before ")
    assert told.endswith(" after")
    dense = "".join(told.split())
    assert not [form for form in forms(KEY) if form in dense.encode()]


def test_other_text_stays_as_it_is() -> None:
    text = "nothing of it: sk-ant-api03- and 8s/Fq \x00 \ud800"

    assert Redactor({"api_key": KEY}).text(text) is text


def test_nothing_is_known_at_first() -> None:
    assert Redactor().text(KEY) is KEY


@pytest.mark.parametrize("short", ["", " ", "x", "12345", "a b\nc d\te"])
def test_what_is_too_short_to_be_told_from_words_is_left(short: str) -> None:
    redactor = Redactor({"short": short})

    assert redactor.text(f"12345 x {short}") == f"12345 x {short}"
    assert len("".join(short.split())) < LEAST


def test_the_longest_value_wins_and_an_old_one_stays_known() -> None:
    redactor = Redactor({"part": "abcdefgh"})
    redactor.learn("whole", "xabcdefghx")
    redactor.learn("part", "ijklmnop")

    assert redactor.text("xabcdefghx abcdefgh ijklmnop") == (
        "[secret whole] [secret part] [secret part]"
    )


def test_a_mark_stays_whole_though_a_value_stands_in_it() -> None:
    redactor = Redactor({"database_password": "password"})

    told = redactor.text("the password, and [secret password]")

    assert told == "the [secret database_password], and [secret [secret database_password]]"
    assert redactor.text("[secret database_password]") == "[secret database_password]"


def test_of_two_values_that_overlap_nothing_is_left() -> None:
    redactor = Redactor({"one": "abcdefgh", "two": "efghijkl"})

    assert redactor.text("x abcd efghijkl é") == "x [secret one][secret two] é"


def test_any_text_can_be_a_value() -> None:
    redactor = Redactor({"odd": "\udcff\udcfe\x00abc", "regex": "(a+)+$[x]\\d{3}.*|^"})

    assert redactor.text("x \udcff\udcfe\x00abc (a+)+$[x]\\d{3}.*|^") == (
        "x [secret odd] [secret regex]"
    )


def test_the_words_of_a_request_stay() -> None:
    redactor = Redactor({"one": "settle", "two": "speaker"})

    told = redactor.within({"do": "settle", "speaker": "settle", "more": {"a": ["speaker"]}})

    assert told == {
        "do": "settle", "speaker": "[secret one]", "more": {"a": ["[secret two]"]},
    }  # fmt: skip


def test_a_thousand_values_and_very_long_ones_are_learnt_and_found_at_once() -> None:
    letters = random.Random(7)
    values = {f"s{n}": letters.randbytes(200).hex() for n in range(1000)}
    values |= {f"long{n}": letters.randbytes(30_000).hex() for n in range(5)}
    began = time.process_time()

    told = Redactor(values).text(f"a {values['s500']} {values['long4']} z")

    assert told == "a [secret s500] [secret long4] z"
    assert time.process_time() - began < 2


def test_each_line_of_a_private_key_is_secret() -> None:
    body = "\n".join(
        "".join(random.Random(n).choices(string.ascii_letters, k=64)) for n in range(4)
    )
    redactor = Redactor({"pem": f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"})

    told = redactor.text(f"x {body.splitlines()[2]} y")

    assert told == "x [secret pem] y"


def test_the_names_are_told_of_values_and_of_marks() -> None:
    redactor = Redactor({"a": "abcdefgh", "b": "ijklmnop", "c": "qrstuvwx"})

    assert redactor.names_in("x ijklmnop [secret a]") == ("a", "b")
    assert Redactor().names_in("[secret a]") == ()


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    more: tuple[object, ...] = ()


def test_every_text_in_a_value_is_redacted_and_its_kind_stays() -> None:
    redactor = Redactor({"a": "abcdefgh"})
    value = {"abcdefgh": [_Row("abcdefgh", ("x", 1, None)), ("abcdefgh",)], "s": State.READY}

    told = redactor.all(value)

    assert told == {
        mark("a"): [_Row(mark("a"), ("x", 1, None)), (mark("a"),)],
        "s": State.READY,
    }
    assert told["s"] is State.READY
    assert redactor.all(_Row("plain")) == _Row("plain")


@given(
    st.text(st.characters(codec="utf-8"), min_size=8, max_size=40).filter(
        lambda s: len("".join(s.split())) >= 8 and "secret" not in s
    ),
    st.text(max_size=30),
    st.text(max_size=30),
    st.binary(max_size=3),
)
def test_whatever_the_value_is_it_is_found(value: str, before: str, after: str, pad: bytes) -> None:
    redactor = Redactor({"v": value})
    encoded = base64.b64encode(pad + value.encode()).decode()

    for written in (value, json.dumps(value), quote(value, safe=""), encoded):
        assert mark("v") in redactor.text(f"{before} {written} {after}")


@given(st.text(max_size=200))
def test_redacting_again_changes_nothing(text: str) -> None:
    redactor = Redactor({"a": "abcdefgh", "b": "0123456789abcdef"})

    once = redactor.text(text)

    assert redactor.text(once) == once
