"""
From a start without an account to one: by what the settings say, or by a person's login elsewhere.

Rule: the account that the settings name is made once. One that is there is never replaced from here.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.matrix import login
from adapters.matrix.account import AccountFile
from adapters.matrix.cross_signing import NotSigned
from adapters.matrix.homeserver import discover
from adapters.matrix.login import Proof
from adapters.matrix.session import NoSession
from adapters.matrix.ways import Pace, Ways
from bot.errors import ByOperator, HeadwayError, Refused, Wait

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class First:
    """What the settings give for a first login. Without it, a person logs the bot in."""

    homeserver: str = ""
    """A server's name or a URL."""
    user_id: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @property
    def is_enough(self) -> bool:
        """Whether a login can be tried with it."""
        return bool(self.homeserver and self.user_id and (self.password or self.token))


async def account_there(
    file: AccountFile,
    first: First,
    ways: Ways,
    *,
    deaf: Callable[[str], None] | None = None,
    is_first_secret: Callable[[], bool] = lambda: False,
) -> None:
    """Return once there is an account, however long that takes.

    Args:
        deaf: is told why there is none yet, in place of `ways.deaf`.
        is_first_secret: whether a key may be made, since nothing is sealed.
    """
    pace, tries = ways.pace, 0
    while file.stamp() is None:
        wait_s = pace.longest_s
        try:
            if not first.is_enough:
                raise NoSession("There is no Matrix account. Log in: headway matrix login")
            await _log_in(file, first, ways, is_first_secret=is_first_secret())
        except Wait as error:
            wait_s = max(error.retry_after_s or 0.0, _backoff_s(pace, tries))
            _tell(deaf or ways.deaf, error)
        except (ByOperator, Refused) as error:
            _tell(deaf or ways.deaf, error)
        tries += 1
        await _rest(file, wait_s, pace.look_s)


async def _log_in(file: AccountFile, first: First, ways: Ways, *, is_first_secret: bool) -> None:
    proof = Proof(first.user_id, first.password, first.token)
    done = await login.log_in(
        file,
        await discover(first.homeserver),
        proof,
        now=ways.now(),
        is_first_secret=is_first_secret,
    )
    log.warning("Logged in to Matrix as %s %s.", done.account.user_id, done.account.device_id)
    try:
        await login.sign_in(file, password=first.password)
    except (NotSigned, Wait, Refused) as error:
        log.warning("Others may not trust the bot's device yet: %s", error)


async def _rest(file: AccountFile, wait_s: float, look_s: float) -> None:
    until = asyncio.get_running_loop().time() + wait_s
    # A person logs in from another process: there is nobody to ring.
    while file.stamp() is None and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
        await asyncio.sleep(look_s)


def _tell(deaf: Callable[[str], None], error: HeadwayError) -> None:
    log.info("Matrix is not heard: %s", error)
    deaf(str(error))


def _backoff_s(pace: Pace, tries: int) -> float:
    return float(min(pace.first_s * 2.0 ** min(tries, 30), pace.longest_s))
