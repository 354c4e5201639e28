"""What the command line writes holds no known secret."""

import io
import logging

from adapters.telemetry.logs import LogHandler
from bot.cli.exits import KNOWN, DiscreetStream, know
from bot.redaction import Redactor
from bot.settings import Settings

KEY = "planted-key"


def test_a_stream_is_written_without_secrets_and_is_else_as_it_was() -> None:
    below = io.StringIO()
    stream = DiscreetStream(below, Redactor({"api_key": KEY}))

    count = stream.write(f"a {KEY}\n")
    stream.writelines([f"b {KEY}\n", "c\n"])
    print("d", KEY, file=stream)

    assert count == len(KEY) + 3
    assert below.getvalue() == ("a [secret api_key]\nb [secret api_key]\nc\nd [secret api_key]\n")
    assert not stream.isatty()


def test_the_log_knows_what_the_settings_hold() -> None:
    handler = LogHandler(stream := io.StringIO())
    logging.getLogger().addHandler(handler)
    try:
        know(Settings(database="postgresql://ann:planted-in-a-url@host/db"))
        try:
            raise ValueError("at planted-in-a-url")
        except ValueError:
            logging.getLogger("bot").exception("It broke: %s", "planted-in-a-url")
    finally:
        logging.getLogger().removeHandler(handler)

    assert "planted-in-a-url" not in stream.getvalue()
    assert stream.getvalue().count("[secret database_password]") == 3
    assert KNOWN.text("planted-in-a-url") == "[secret database_password]"
