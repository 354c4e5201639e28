"""
Commands, presses and shortcuts of Slack as what somebody said. Pure.

Rule 1: total, as the events are.
Rule 2: each is known by its trigger, which Slack makes once for it. It stands nowhere, and has a way back
        to whoever did it.
Rule 3: a press says the word on its button, in the thread of the message under which the button is, or
        where the button itself says.
"""

from dataclasses import replace
from typing import Final

from adapters.slack.ids import message_id
from adapters.slack.mentions import addressed
from adapters.slack.parse import Hearer, thread_of, when
from adapters.slack.payloads import Json, channel_of, fields, opaque, rows, text_of, ts, user_id
from adapters.slack.presses import Press, read_press
from bot.ports.chat import Incoming, Speaker
from bot.ports.windows import AIM, NEW

COMMAND: Final = "/goal"
"""What every slash command of the app says, whatever its name in the workspace is."""
WAY_MOST: Final = 2_000
"""Characters of an address."""
ACTIONS_MOST: Final = 10


def command(body: Json, hearer: Hearer, now: float) -> Incoming | None:
    """A slash command."""
    channel, trigger = channel_of(body.get("channel_id")), opaque(body.get("trigger_id"))
    speaker = speaker_of(body, hearer)
    if not channel or not trigger or speaker is None:
        return None
    said = addressed(text_of(body.get("text")), hearer.names).text
    return Incoming(
        f"command:{trigger}",
        hearer.place(channel),
        speaker,
        f"{COMMAND} {said.strip()}".strip(),
        now,
        via="command",
        way_back=way_back(body),
    )


def presses(body: Json, hearer: Hearer, now: float) -> tuple[Incoming, ...]:
    """Presses on buttons, or choices in selects, that came together; mostly one."""
    speaker, trigger = speaker_of(body, hearer), opaque(body.get("trigger_id"))
    if speaker is None:
        return ()
    found = []
    for number, action in enumerate(rows(body.get("actions"), ACTIONS_MOST)):
        said = _said_by(action)
        if said.page:
            continue
        stamp = ts(action.get("action_ts"))
        id = trigger or (f"{speaker.id}:{stamp}" if stamp else "")
        if not id:
            continue
        at = when(stamp) if stamp else now
        press = _press(body, said, hearer, speaker, at)
        found.append(replace(press, id=f"button:{id}:{number}" if number else f"button:{id}"))
    return tuple(found)


def page_of(body: Json) -> int:
    """The page to which somebody turns their home; 0 where they do not."""
    return max((_said_by(one).page for one in rows(body.get("actions"), ACTIONS_MOST)), default=0)


def is_in_modal(body: Json) -> bool:
    """Whether it was done in a window, and not in a message or the home."""
    return text_of(fields(body.get("view")).get("type")) == "modal"


def shortcut(body: Json, hearer: Hearer, now: float) -> Incoming | None:
    """A shortcut: on a message, or from wherever somebody is."""
    speaker, trigger = speaker_of(body, hearer), opaque(body.get("trigger_id"))
    if speaker is None or not trigger:
        return None
    pressed = Incoming(
        f"button:{trigger}",
        hearer.place(channel_of(body.get("channel"))),
        speaker,
        NEW,
        now,
        via="button",
        way_back=way_back(body),
    )
    if text_of(body.get("type")) != "message_action":
        return pressed
    message = fields(body.get("message"))
    channel = channel_of(body.get("channel"))
    stamp = ts(body.get("message_ts")) or ts(message.get("ts"))
    if not channel or not stamp:
        return None
    said = addressed(text_of(message.get("text")), hearer.names).text
    return replace(
        pressed,
        place=hearer.place(channel, thread_of({**message, "ts": stamp})),
        text=f"{AIM}\n{said}".rstrip(),
        reply_to=message_id(channel, stamp),
    )


def speaker_of(body: Json, hearer: Hearer) -> Speaker | None:
    """Who did it; None where nobody is named."""
    user = user_id(body.get("user")) or user_id(body.get("user_id"))
    if not user or user in hearer.names.us:
        return None
    who = fields(body.get("user"))
    team = user_id(who.get("team_id")) or user_id(body.get("team_id"))
    speaker = hearer.speaker(user, {"team": team})
    called = text_of(who.get("name")) or text_of(who.get("username"))
    called = called or text_of(body.get("user_name"))
    return replace(speaker, name=called) if speaker.name == user and called else speaker


def way_back(body: Json) -> str:
    """Where it can be answered unseen by others; empty where that is nowhere."""
    given = rows(body.get("response_urls"), 1)
    url = text_of(body.get("response_url")) or text_of(
        given[0].get("response_url") if given else ""
    )
    is_one = url.startswith(("https://", "http://")) and url.isprintable() and " " not in url
    return url if is_one and len(url) <= WAY_MOST else ""


def room_in(body: Json) -> str:
    """The channel where it was done; empty where that is none."""
    found = channel_of(body.get("channel")) or channel_of(body.get("channel_id"))
    return found or channel_of(fields(body.get("container")).get("channel_id"))


def users_in(body: Json) -> tuple[str, str]:
    """The user who did it, and the text in which others may be mentioned."""
    user = user_id(body.get("user")) or user_id(body.get("user_id"))
    return user, text_of(body.get("text")) or text_of(fields(body.get("message")).get("text"))


def _said_by(action: Json) -> Press:
    """What a button says, or what was chosen."""
    chosen = fields(action.get("selected_option"))
    return read_press(chosen.get("value") or action.get("value"))


def _press(body: Json, said: Press, hearer: Hearer, speaker: Speaker, at: float) -> Incoming:
    box, message = fields(body.get("container")), fields(body.get("message"))
    channel = room_in(body)
    stamp = ts(box.get("message_ts")) or ts(message.get("ts"))
    root = ts(message.get("thread_ts")) or ts(box.get("thread_ts"))
    of = message_id(channel, stamp) if channel and stamp else ""
    return Incoming(
        "",
        said.place or hearer.place(channel, root if channel else ""),
        speaker,
        said.verb,
        at,
        reply_to=said.of or ("" if said.place else of),
        via="button",
        way_back=way_back(body),
    )
