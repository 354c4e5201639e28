"""Moments and lengths of time, as people read them, in a room's zone."""

from datetime import datetime, tzinfo
from typing import Final

from bot.chat.texts import Texts

WEEK_S = 6 * 24 * 3600.0

DAY_S: Final = 86_400.0


def clock_time(at: float, zone: tzinfo) -> str:
    """`14:05`."""
    return f"{datetime.fromtimestamp(at, zone):%H:%M}"


def moment(at: float, now: float, zone: tzinfo, texts: Texts) -> str:
    """`Tue 14:00 CET` within a week, else `1 Dec 14:00 CET`."""
    then = datetime.fromtimestamp(at, zone)
    name = then.tzname() or ""
    if abs(at - now) < WEEK_S:
        weekday = texts("weekdays").split()[then.weekday()]
        return texts("moment.week", weekday=weekday, time=f"{then:%H:%M}", zone=name)
    month = texts("months").split()[then.month - 1]
    return texts("moment.date", day=then.day, month=month, time=f"{then:%H:%M}", zone=name)


def duration(seconds: float, texts: Texts) -> str:
    """`12 s`, `41 min`, `2 h 5 min`, `3 d 4 h`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return texts("duration.s", s=whole)
    if whole < 3600:
        return texts("duration.min", min=whole // 60)
    if whole < 48 * 3600:
        return texts("duration.h", h=whole // 3600, min=whole % 3600 // 60)
    return texts("duration.d", d=whole // 86400, h=whole % 86400 // 3600)
