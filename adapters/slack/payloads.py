"""
Fields of Slack's payloads, whatever they hold. Pure.

Rule: none of these raises: what is not of the kind that was asked for is as if it were not there.
"""

from collections.abc import Mapping
from typing import Any, Final

from adapters.slack.ids import is_channel, is_ts, is_user

Json = Mapping[str, Any]
METADATA: Final = "headway_post"
"""Type of the metadata by which every post of a Headway is known, ours and others'."""
ID_MOST: Final = 200
"""Characters of an id that Slack gives to a trigger or a view."""


def fields(value: object) -> Json:
    """The object; an empty one for all else."""
    return value if isinstance(value, Mapping) else {}


def text_of(value: object) -> str:
    """The text; an empty one for all else."""
    return value if isinstance(value, str) else ""


def rows(value: object, most: int = 100) -> tuple[Json, ...]:
    """The first objects of a list."""
    if not isinstance(value, list):
        return ()
    return tuple(one for one in value[:most] if isinstance(one, Mapping))


def is_yes(value: object) -> bool:
    """Whether it is true, as JSON or as a form says it."""
    return value is True or value == "true"


def opaque(value: object) -> str:
    """An id that nobody takes apart; empty where it is none."""
    found = text_of(value)
    is_one = 0 < len(found) <= ID_MOST and found.isascii() and found.isprintable()
    return found if is_one and " " not in found else ""


def channel_of(value: object) -> str:
    """Id of the channel, given as itself or as an object; empty where there is none."""
    found = text_of(value) or text_of(fields(value).get("id"))
    return found if is_channel(found) else ""


def user_id(value: object) -> str:
    """Id of a user, a team or an enterprise, given as itself or as an object; else empty."""
    found = text_of(value) or text_of(fields(value).get("id"))
    return found if is_user(found) else ""


def ts(value: object) -> str:
    """A timestamp; empty where it is none."""
    found = text_of(value)
    return found if is_ts(found) else ""


def authorization(body: Json) -> Json:
    """By what right the app was sent an event."""
    given = rows(body.get("authorizations"), 1)
    return given[0] if given else {}


def installs_of(body: Json) -> tuple[str, ...]:
    """Keys of the installs that a payload may be for, the likeliest first.

    https://docs.slack.dev/apis/events-api: in a channel that organisations share, the outer team_id
    may be another's, and only the authorization tells which install is meant.
    """
    by, view = authorization(body), fields(body.get("view"))
    org = user_id(by.get("enterprise_id")) or user_id(body.get("enterprise"))
    org = org or user_id(body.get("enterprise_id"))
    org = org or user_id(fields(body.get("team")).get("enterprise_id"))
    team = user_id(by.get("team_id")) or user_id(view.get("app_installed_team_id"))
    team = team or user_id(body.get("team")) or user_id(body.get("team_id"))
    team = team or user_id(fields(body.get("user")).get("team_id"))
    of_org = by.get("is_enterprise_install", body.get("is_enterprise_install"))
    found = (org, team) if is_yes(of_org) else (team, org)
    return tuple(dict.fromkeys(one for one in found if one))


def is_of_headway(message: Json) -> bool:
    """Whether a Headway posted it, ours or another."""
    return text_of(fields(message.get("metadata")).get("event_type")) == METADATA
