"""What a tool gave, as text: no part of a secret is left where it is cut."""

from types import SimpleNamespace

import pytest

from adapters.mcp.contents import TEXT_CHARS, text_of
from bot.redaction import Redactor

TOKEN = "ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"


@pytest.mark.parametrize("before", [TEXT_CHARS // 2 - 30, TEXT_CHARS // 2 - 4])
def test_of_a_secret_over_the_cut_nothing_stays(before: int) -> None:
    redactor = Redactor({"TOKEN": TOKEN})
    long = SimpleNamespace(type="text", text="x" * before + TOKEN + "y" * TEXT_CHARS)

    text = text_of([long], None, redactor.text)

    assert "characters left out" in text
    assert TOKEN[:6] not in text


def test_of_a_secret_in_a_long_address_nothing_stays() -> None:
    redactor = Redactor({"TOKEN": TOKEN})
    link = SimpleNamespace(type="resource_link", name="n", uri="https://h/" + "a" * 170 + TOKEN)

    assert TOKEN[:6] not in text_of([link], None, redactor.text)
