"""What a server may say until it is cut off: a stranger's word has an end."""

from typing import Final

LINE_BYTES: Final = 4 * 1024 * 1024
"""Of one message."""
SAID_BYTES: Final = 16 * 1024 * 1024
SAID_MESSAGES: Final = 5_000
UNREADABLE_MOST: Final = 100
"""Lines that are no message; some programs print on their standard output."""


class TooMuch(Exception):
    """A server said more than it may; says what."""


class Allowance:
    """What a server may say still. It is renewed with each call, and not while none is under way."""

    def __init__(self) -> None:
        self.why = ""
        """Why it was cut off."""
        self.has_ended = False
        """It says nothing more."""
        self._bytes = self._messages = self._unreadable = 0

    def renew(self) -> None:
        """A call begins."""
        self._bytes = self._messages = self._unreadable = 0

    def take(self, size: int) -> None:
        """It said so many bytes. Raises TooMuch."""
        self._bytes += size
        if self._bytes > SAID_BYTES:
            raise self._cut(f"it said more than {SAID_BYTES // 1024 // 1024} MB")

    def message(self) -> None:
        """It said something. Raises TooMuch."""
        self._messages += 1
        if self._messages > SAID_MESSAGES:
            raise self._cut(f"it said more than {SAID_MESSAGES:,} things at once")

    def unreadable(self) -> None:
        """It said something that is no message. Raises TooMuch."""
        self._unreadable += 1
        if self._unreadable > UNREADABLE_MOST:
            raise self._cut("what it says is no MCP")

    def line(self, size: int) -> None:
        """A message has so many bytes by now. Raises TooMuch."""
        if size > LINE_BYTES:
            raise self._cut(f"one message has more than {LINE_BYTES // 1024 // 1024} MB")

    def _cut(self, why: str) -> TooMuch:
        self.why = why
        return TooMuch(why)
