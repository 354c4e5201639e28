"""Nothing that a process says holds a token of an install, from before it is kept."""

from dataclasses import replace

from bot.redaction import Redactor
from bot.wiring.secrets import KnownInstalls
from tests.adapters.store.clocks import HandClock
from tests.contracts.installs import HERE
from tests.doubles.installs import MemoryInstalls

RENEWED = replace(HERE, token="xoxb-renewed-token", refresh_token="xoxe-1-renewed")


async def test_tokens_are_known_once_they_are_kept_renewed_or_read() -> None:
    rows = MemoryInstalls(HandClock())
    await rows.keep(replace(HERE, workspace="T02", token="xoxb-another-one"))
    redactor = Redactor()
    installs = KnownInstalls(rows, redactor)

    await installs.keep(HERE)
    renewed = await installs.renew(RENEWED)
    other = await installs.install("slack", "T02")

    values = (HERE.token, HERE.refresh_token, RENEWED.token, RENEWED.refresh_token)
    told = redactor.text(" and ".join((*values, "xoxb-another-one")))
    assert renewed
    assert other is not None
    assert "xox" not in told
    assert "[secret slack:T01]" in told
    assert "[secret slack:T02]" in told


async def test_whatever_else_is_asked_of_installs_is_as_it_was() -> None:
    rows = MemoryInstalls(HandClock())
    redactor = Redactor()
    installs = KnownInstalls(rows, redactor)
    await rows.keep(HERE)

    all_of_them = await installs.installed("slack")
    taken = await installs.take_charge("A01", "host.1", lasts_s=9)
    erased = await installs.erase("slack", "T01")

    assert all_of_them == (HERE,)
    assert (taken, erased) == (True, True)
    assert HERE.token not in redactor.text(f"the token {HERE.token}")
    assert await installs.install("slack", "T01") is None
