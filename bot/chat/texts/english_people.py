"""The sentences in English about people and rooms; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

PEOPLE: Final[Mapping[str, str]] = {
    # Roles and places.
    "role.user": "user",
    "role.approver": "approver",
    "role.admin": "admin",
    "allow.here": "in this room",
    "allow.everywhere": "in all rooms",
    # Strangers.
    "said.stranger": "I take goals from people on my list.",
    "button.ask_access": "Ask for access",
    "button.allow": "Allow",
    "said.access.asked": "Asked. Whoever looks after this room decides.",
    "said.access.has": "You are on the list already. `/goal help` shows what you can say.",
    "access.card": (
        "{admins}: {name} asks for access. `/goal allow {word}` lets them start goals, "
        "`/goal allow {word} approver` lets them approve."
    ),
    "access.operator": "Whoever runs Headway",
    "access.admins": "For the admins",
    # Claims.
    "said.claim.taken": (
        "{name} is the admin now. `/goal allow @name` lets others in; `/goal help` shows the rest."
    ),
    "said.claim.wrong": (
        "That is not the code. Type it as it was printed; `headway claim` prints a new one."
    ),
    "said.claim.expired": "That code has ended. `headway claim` prints a new one.",
    "said.claim.used": "That code was used already. Ask an admin: `/goal access`.",
    "said.claim.none": "There is no code to claim with. `headway claim` prints one.",
    "said.claim.closed": (
        "Too many wrong codes were given, so the right one has ended. `headway claim` prints a new one."
    ),
    "said.claim.public": (
        "Codes are taken in a direct message only. Others may have read that one, so it has ended: "
        "`headway claim` prints a new one."
    ),
    # The list.
    "said.allow.empty": "The list is empty. `/goal allow @name` lets somebody in.",
    "said.allow.head": "Who may do something here:",
    "said.allow.line": "- {name} — {role} {where}",
    "said.allow.foot": (
        "`allow @name [user|approver|admin] [here]` adds, `allow remove @name` removes; "
        "`room:NAME`, `server:NAME` and `group:ID` stand for many."
    ),
    "said.allowed": "{name} is {role} {where} now.",
    "said.allowed.already": "{name} was {role} {where} already.",
    "said.removed": "{name} is removed. What they own rests until somebody takes it over.",
    "said.removed.partly": "That is taken from {name}. They are on the list otherwise: `allow` shows it.",
    "bad.role": "`{word}` is no role. Roles are: {roles}; `here` makes it this room's alone.",
    "bad.everybody": "{name} is nobody's name. Everybody in a room is `room:NAME`.",
    # May not.
    "said.may_not": "You may not do that to {goal}: it takes its owner or an admin.",
    "said.may_not.here": "You may not do that here: it takes an admin.",
    "said.may_not.start": "You may not start anything here. An admin can change that: `allow`.",
    "said.may_not.approve": "You may not approve calls of {goal}: it takes an approver or an admin.",
    "said.may_not.accept": (
        "You may not answer that for {goal}: it takes its owner, an approver or an admin, and "
        "where the room wants four eyes, not its owner."
    ),
    "said.may_not.pause": "You may not do that to {goal}: it takes somebody who may start goals.",
    "said.may_not.answer": "You may not answer for {goal}: it takes somebody who may start goals.",
    "said.may_not.settings": "You may not change the room's settings: it takes an admin.",
    "said.may_not.allow": "You may not see or change the list: it takes an admin.",
    "bad.wide": (
        "You are an admin of this room alone. `{verb}` without more is about this room; all rooms "
        "take an admin of all."
    ),
    # Handing over.
    "offer.card": (
        "{name}: {by} offers you {goal}. `accept` makes it yours, and what it costs from then on; "
        "`decline` leaves it."
    ),
    "button.accept": "Accept",
    "button.decline": "Decline",
    "said.offered": "{goal} is offered to {name}. It stays where it is until they accept.",
    "said.accepted": "{goal} is {name}'s now, and charged to them from here on.",
    "said.accepted.rests": (
        "{goal} is {name}'s now, and charged to them from here on. `resume` goes on."
    ),
    "said.declined": "{goal} stays with its owner: {name} ended the offer.",
    "said.which_yes": (
        "Two things wait for that word here. `accept {number}` answers decision {number}; "
        "`/goal owner me` takes the goal, or `decline` first."
    ),
    "bad.owner": "Name one person: `owner @ben`, or `owner me` to take it over.",
    "bad.owner.stranger": (
        "{name} may have no goals here. `/goal allow {name}` lets them; then offer it again."
    ),
    "refused.owner_lost": (
        "{goal} has no owner who may have goals here. `owner {goal} me` takes it over; then `resume`."
    ),
    "refused.own_already": "{goal} is theirs already.",
    "refused.no_offer": "{goal} is not offered to you. Its owner can: `owner @name`.",
    "refused.no_goals_of_yours": "You may have no goals here. An admin can let you: `allow`.",
    "refused.not_listed": "They are not on the list. `/goal allow` shows it.",
    "refused.last_admin": (
        "They are the last admin on the list. Make somebody else one first: "
        "`/goal allow @name admin`."
    ),
    "refused.goals_off": "Goals are off in this room. An admin turns them on: `/goal room goals on`.",
    # Owners that are lost.
    "status.owner_lost.removed": "Its owner is no longer on the list. An admin can take it over.",
    "status.owner_lost.gone": "Its owner has left. An admin can take it over.",
    "lost.removed": "{admins}: {name} is no longer on the list. Their goals here are paused:",
    "lost.gone": "{admins}: {name} has left. Their goals here are paused:",
    "lost.line": "- **{goal}** — {objective}",
    "lost.foot": (
        "`/goal owner G1 me` takes one over, `/goal cancel G1` ends it; otherwise they stay paused."
    ),
    "button.take_over": "Take over",
    "button.keep_paused": "Keep paused",
    # Settings of rooms.
    "room.open": "as the settings say",
    "room.default": "default",
    "room.set_by": "set by {name}, {time}",
    "room.set_by.workspace": "set for all rooms by {name}, {time}",
    "room.operator": "the operator",
    "said.room.line": "- `{key}` **{value}** ({by}): {help}",
    "said.room.set": "This room's `{key}` is {value} now, set by {by}.",
    "said.room.foot": (
        "`room KEY VALUE` sets one (admins); the value `default` leaves it open again. `room repo` shows "
        "the repositories."
    ),
    "room.goals": "whether goals may be started: `on` or `off`",
    "room.mention": (
        "what `@headway …` does: `goal` starts one, `ask` asks; `always`: in threads, too, only a "
        "mention or a command is for me"
    ),
    "room.model": "model of the agent",
    "room.audit_model": "model of the auditor",
    "room.budget_usd": "budget of a new goal, dollars",
    "room.cap_usd": "what all goals here may spend in a day, dollars",
    "room.cap_live_goals": "live goals at once",
    "room.zone": "zone of the times shown, such as `Europe/Berlin`",
    "room.self_approve": "whether owners approve calls of their own goals: `on` or `off`",
    "room.four_eyes": "whether an owner never approves or accepts for their own goal: `on` or `off`",
    "room.retention_days": "days that texts live after their goal ended",
    "room.workspace_days": "days that workspaces live after their goal ended",
    "room.threads": (
        "whether each goal has a thread: `on`, or `off` for one goal at a time in the room itself"
    ),
    "room.reactions": "whether a reaction approves a call in an encrypted room: `on` or `off`",
    "room.acks": "whether I mark what I took with 👀 and ✅: `on` or `off`",
    "room.profile": (
        "what tools may do: `read_only`, `workspace` (its own folder), `networked` (allowed hosts, "
        "too) or `full` (asks for nothing)"
    ),
    "room.approvals": "what happens to a call beyond the profile: `ask` or `deny`",
    "room.unattended": "the same where nobody began the goal: `deny`, or `park` it for somebody",
    "room.plan_first": "whether a goal begins with a plan that somebody approves: `on` or `off`",
    "room.hosts": "what networked goals reach, such as `pypi,github,api.example.org`",
    "bad.setting": "There is no setting `{key}`. There are: {keys}.",
    "bad.setting.near": "There is no setting `{key}`. Did you mean `{near}`?",
    "bad.value": "`{key}` does not take `{value}`: give {fits}.",
    "bad.value.switch": "`on` or `off`",
    "bad.value.zone": "an IANA name such as `Europe/Berlin`",
    "bad.value.model": "a model's name",
    "bad.value.money": "dollars, from 0.01 to 1000000",
    "bad.value.count": "a whole number, from 0 to 36500",
    # Why.
    "said.why.unknown": "I know of no such message here.",
    "said.why.taken": "It was taken.",
    "said.why.waiting": "It is being taken just now.",
    "said.why.failed": "It could not be handled: {why}. Say it again.",
    "said.why.stranger": "{name} is not on my list. An admin can change that: `/goal allow`.",
    "said.why.aside": "It begins with `//`, which keeps it out.",
    "said.why.empty": "It says nothing.",
    "said.why.unaddressed": (
        "It was said in the room and not to me. Begin with `/goal` or `@headway`, or say it in a "
        "goal's thread."
    ),
    "said.why.always": (
        "This room wants me mentioned: begin with `@headway` or `/goal` (`/goal room mention`)."
    ),
    "said.why.may_not": "{name} may see goals here and not start or steer any. An admin can change that.",
    "said.why.off": "Goals are off in this room: `/goal room goals`.",
    "said.why.bad": "It could not be taken as it was; I said why below it.",
    # Verbs.
    "verb.owner": "offer it to somebody, who accepts; `me` takes it over (admins)",
    "verb.owner.example": "owner G12 @ben",
    "verb.accept": "take a goal that was offered to you",
    "verb.accept.example": "accept G12",
    "verb.decline": "leave a goal that was offered to you",
    "verb.decline.example": "decline G12",
    "verb.room": "show or set this room's settings",
    "verb.room.example": "room budget_usd 5",
    "verb.allow": "show the list, let somebody in, or remove them (admins)",
    "verb.allow.example": "allow @ben approver here",
    "verb.claim": "become the first admin with the code that Headway printed",
    "verb.claim.example": "claim 7F3K-Q2WZ-M9HD",
    "verb.access": "ask to be let in",
    "verb.access.example": "access",
    "verb.why": "why a message was not taken: as a reply to it, or about your last one",
    "verb.why.example": "why",
}
