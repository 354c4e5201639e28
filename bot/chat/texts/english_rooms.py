"""The sentences in English about reactions, marks, and rooms that are lost or moved; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

ROOMS: Final[Mapping[str, str]] = {
    # Reactions.
    "said.words_only": (
        "In an encrypted room an approval takes words: `{yes} {number}` or `{no} {number}`."
    ),
    "said.aim_unreadable": (
        "I cannot read that message, so I cannot make a goal of it. Say what it wants: "
        "`/goal <objective>`."
    ),
    "said.endless": (
        "We go back and forth. From here on I take what calls me: begin with `@headway` or `/goal`."
    ),
    "said.taken_back": "Taken back.",
    "refused.begun": "{goal} has done a turn already: `cancel` ends it.",
    # Threads that begin with a message of ours.
    "root.goal": "🎯 {goal} for {owner}: {objective}",
    "root.moved": "🎯 {goal} goes on here: {objective}",
    "root.moved.ended": "🎯 {goal} was asked for in the room before this one.",
    # Rooms that are lost, or replaced.
    "said.moved": "The room is replaced by this one. Its goals and settings came along.",
    "status.room_lost.left": "The bot left the room.",
    "status.room_lost.kicked": "The bot was removed from the room by {name}.",
    "status.room_lost.kicked.why": "The bot was removed from the room by {name}: {why}.",
    "status.room_lost.banned": "The bot was banned from the room by {name}.",
    "status.room_lost.banned.why": "The bot was banned from the room by {name}: {why}.",
    "status.room_lost.gone": "The room is gone.",
    "status.room_lost.refused": "What is said here was refused.",
    "status.room_lost.refused.why": "What was to be said here was refused: {why}",
    "incident.room": "the room {subject} is lost. Its goals are paused: {goals}.",
    "incident.room.left": "the bot left the room {subject}. Its goals are paused: {goals}.",
    "incident.room.kicked": (
        "{name} removed the bot from the room {subject}{why}. Its goals are paused: {goals}. Invited "
        "again, they go on at `resume`."
    ),
    "incident.room.banned": (
        "{name} banned the bot from the room {subject}{why}. Its goals are paused: {goals}."
    ),
    "incident.room.over": "the bot is in the room {subject} again; its goals go on at `resume`.",
    # Rooms without threads.
    "refused.room_busy": (
        "This room has one goal at a time, and {goal} is live. `edit` changes it, `cancel` ends it; "
        "`/goal room threads on` gives each goal a thread."
    ),
    # Why.
    "said.why.others": "It spoke to others and not to me. Begin with `@headway` or `/goal`.",
    "said.why.before": (
        "Others talk there, too, so I take what is said to me by name: begin with `@headway` or `/goal`."
    ),
    "said.why.reaction": (
        "Of reactions I take 🎯 under a message, and the signs under a card that is open."
    ),
}
