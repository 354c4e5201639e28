"""
Ids of Slack as the rest of the product knows them. Pure.

Rule 1: a message is named by its channel and its timestamp, which Slack gives once in a channel; nobody
        outside `adapters/slack` takes such an id apart.
Rule 2: a person is named by their enterprise, or else their team, and themselves: a user's id alone
        says nothing in a channel that two organisations share.
"""

import re
from typing import Final

from bot.errors import Refused
from bot.ports.chat import Place

NETWORK: Final = "slack"
_CHANNEL: Final = re.compile(r"[CDG][A-Z0-9_]{1,63}")
_TS: Final = re.compile(r"[0-9]{1,16}\.[0-9]{1,9}")
_USER: Final = re.compile(r"[A-Z][A-Z0-9_]{1,63}")
_PERSON: Final = re.compile(r"([TE][A-Z0-9_]{1,63}):([A-Z][A-Z0-9_]{1,63})")


def message_id(channel: str, ts: str) -> str:
    """The id of a message: `C01GEN:1700000000.000100`."""
    return f"{channel}:{ts}"


def parted(id: str) -> tuple[str, str]:
    """The channel and the timestamp of a message's id.

    Raises:
        Refused: it is no id of a message on Slack.
    """
    channel, _, ts = id.partition(":")
    if not (is_channel(channel) and is_ts(ts)):
        raise Refused(
            f"{id!r} is no message of Slack. It is said where it came from.", code="wrong_network"
        )
    return channel, ts


def ts_of(place: Place) -> str:
    """The timestamp of the message that opened the place's thread; empty in a main timeline.

    Raises:
        Refused: the place is not on Slack, or the thread is of another channel.
    """
    if place.network != NETWORK:
        raise Refused(f"{place.network} is not Slack: nothing is sent.", code="wrong_network")
    if not place.thread:
        return ""
    channel, ts = parted(place.thread)
    if channel != place.room:
        raise Refused(
            f"The thread {place.thread} is not in {place.room}: nothing is sent.",
            code="wrong_network",
        )
    return ts


def person_id(team: str, user: str) -> str:
    """The id of a person: `T01TEST:U01ALICE`; `team` is their enterprise where they have one."""
    return f"{team}:{user}"


def user_of(person: str) -> tuple[str, str]:
    """The team or enterprise, and the user of a person's id.

    Raises:
        Refused: it is nobody of Slack.
    """
    found = _PERSON.fullmatch(person)
    if found is None:
        raise Refused(f"{person!r} is nobody on Slack.", code="wrong_network")
    return found[1], found[2]


def is_channel(id: str) -> bool:
    """Whether it may be the id of a channel, a group or a direct conversation."""
    return _CHANNEL.fullmatch(id) is not None


def is_ts(ts: str) -> bool:
    """Whether it may be the timestamp of a message."""
    return _TS.fullmatch(ts) is not None


def is_user(id: str) -> bool:
    """Whether it may be the id of a user, a team or an enterprise."""
    return _USER.fullmatch(id) is not None


def at_of(ts: str) -> float:
    """Seconds since the epoch of a timestamp."""
    return float(ts)
