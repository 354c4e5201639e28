"""
What the command line writes: standard output, standard error and the log, without known secrets.

Rule: the streams are wrapped once, at the start; what is secret is known as soon as the settings are.
"""

import sys
from typing import Any, Final

from adapters.telemetry.logs import redact_with
from bot.known import learn_settings
from bot.redaction import Redactor
from bot.settings import Settings

KNOWN: Final = Redactor()
"""Of this process, whose streams there are one of."""


class DiscreetStream:
    """A stream of text, written to without known secrets."""

    def __init__(self, stream: Any, redactor: Redactor) -> None:
        self._stream, self._redactor = stream, redactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """As the stream's."""
        self._stream.write(self._redactor.text(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """As the stream's."""
        for line in lines:
            self.write(line)


def wrap_streams() -> None:
    """From now on standard output and standard error hold no known secret."""
    stdout: Any = DiscreetStream(sys.stdout, KNOWN)
    stderr: Any = DiscreetStream(sys.stderr, KNOWN)
    sys.stdout, sys.stderr = stdout, stderr


def know(settings: Settings) -> None:
    """Know what the settings hold that is secret."""
    learn_settings(KNOWN, settings)
    redact_with(KNOWN.text)
