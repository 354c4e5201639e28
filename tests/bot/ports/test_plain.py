"""Messages as plain text."""

import pytest

from bot.ports.plain import closed


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("no code", ""),
        ("```\none", "```"),
        ("```\none\n```", ""),
        ("````bash\ncat <<'X'\n```\nX", "````"),
        ("````bash\n```\n````", ""),
        ("~~~\n```", "~~~"),
        ("see ```this``` and\n```that``` too", ""),
        ("```\none\n```…", "```"),
        ("- ```sh\n  one\n  ```", ""),
        ("1. ```\n   one", "```"),
    ],
)
def test_code_is_closed_as_it_was_opened(text: str, added: str) -> None:
    assert closed(text) == (f"{text}\n{added}" if added else text)
