"""What `headway config show` hides of an address."""

import pytest

from bot.cli.config import _without_password


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://models.example/v1?token=T&x=", "http://models.example/v1?token=***&x=***"),
        ("https://models.example/v1", "https://models.example/v1"),
        ("http://ann:secret@models.example/", "http://ann:***@models.example/"),
        (
            "postgresql://ann:secret@db/headway?sslmode=require&password=other",
            "postgresql://ann:***@db/headway?sslmode=require&password=***",
        ),
        ("what is this? user@host", "what is this? user@host"),
    ],
)
def test_an_address_is_shown_without_what_opens_it(address: str, shown: str) -> None:
    assert _without_password(address) == shown
