"""The sentences in English about holds and incidents; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

OPERATIONS: Final[Mapping[str, str]] = {
    # The status message of a goal that is on hold.
    "state.on_hold": "On hold",
    "held.since": "by {name} since {time}",
    "held.restored": "restored, since {time}",
    "held.now": "Nothing of it runs until the release. Before: {state}.",
    "held.why": "Why: {why}.",
    "held.kept": "✋ On hold {since}: it is kept, and goes on after the release.",
    # What is on hold.
    "held.all": "everything",
    "held.restore": "everything, as restored",
    "held.here": "this room",
    "held.room": "the room {name}",
    "held.person": "what {name} owns",
    # Answers.
    "said.held": (
        "✋ On hold: {what}. Nothing of it starts, and what ran is stopped where it was; messages "
        "are kept. `/goal {release}` lets it go on."
    ),
    "said.held.already": "On hold already, {since}: {what}. {why}",
    "said.released": "▶ Released: {what}. It goes on where it was.",
    "said.released.none": "Not on hold: {what}.",
    "said.released.still": "Still on hold: {what}.",
    "said.may_not.hold": "Only an admin holds and releases.",
    "bad.nobody": "I know nobody called {name}. Write it as the network does.",
    "verb.hold": "stop this room, a person's goals or everything, until the release; admins",
    "verb.hold.example": "hold all: the key is being changed",
    "verb.release": "let what is on hold go on; admins",
    "verb.release.example": "release all",
    # Incidents, in the operations room.
    "incident.head": "⚠ Incident: {text}",
    "incident.over": "✔ Over: {text}",
    "incident.other": "{kind} {subject}: {detail}",
    "incident.other.over": "{kind} {subject}",
    "incident.key": (
        "the model endpoint {subject} does not take our key ({detail}). Goals on it wait and go on "
        "by themselves. Mend the key."
    ),
    "incident.key.billing": (
        "the account at the model endpoint {subject} has a billing problem. Goals on it wait and "
        "go on by themselves. Mend the bill."
    ),
    "incident.key.permission": (
        "our key may not use what is asked of the model endpoint {subject}. Goals on it wait and "
        "go on by themselves. Allow the model, or name another."
    ),
    "incident.key.not_found": (
        "the model of {subject} is not found. Goals that need it wait and go on by themselves. "
        "Name another model."
    ),
    "incident.key.over": "the model endpoint {subject} takes our calls; goals go on.",
    "incident.endpoint": (
        "the model endpoint {subject} takes no calls since 5 minutes and more ({detail}). Goals "
        "wait and go on by themselves; look at the provider's status."
    ),
    "incident.endpoint.over": "the model endpoint {subject} takes calls; goals go on.",
    "incident.disk": (
        "the disk under {subject} is nearly full, {detail} are left. Free some space: when it is "
        "full, nothing goes on."
    ),
    "incident.disk.over": "the disk under {subject} has room.",
    "incident.database": (
        "the database was out of reach for {seconds} s, and goals waited ({detail})"
    ),
    "incident.database.over": "the database works; goals go on.",
    "incident.post": (
        "what should be posted in {subject} cannot be ({detail}). What it was about is paused. "
        "Mend the cause, then resume it there; `headway incidents` lists this."
    ),
    "incident.post.over": "posts arrive in {subject}.",
    "incident.network": (
        "{subject} cannot be heard ({detail}). Goals go on and what is to be said waits. "
        "`headway doctor` names cause and mend."
    ),
    "incident.network.over": "{subject} is heard again; what waited is sent.",
    "incident.token": "{detail}",
    "incident.token.over": "the token of {subject} is good again; what waited is sent.",
    "incident.sockets": (
        "another process has sockets of the Slack app open, too ({detail} more than this one): each hears "
        "a part of what is said, and goals are begun twice. Stop the other one, or let both work on one "
        "PostgreSQL."
    ),
    "incident.sockets.over": "nobody else has sockets of the Slack app open.",
    "incident.message": (
        "a message could not be handled, three times (ref {detail}). Who said it was told; the log "
        "has the cause."
    ),
    "incident.message.over": "messages of that kind are handled.",
    "incident.sweeps": (
        "the sweep {detail} is {seconds} s late: what is due begins late. Look at the load of the "
        "machine and at the database."
    ),
    "incident.sweeps.over": "the sweeps are in time.",
    "incident.sandbox": (
        "the sandbox does not work, and the agent's tools are off. `headway doctor sandbox` names "
        "cause and mend; then start Headway again."
    ),
    "incident.sandbox.over": "the sandbox works; tools are on.",
    "incident.cap": "a cap is reached, and what it holds waits: {detail}",
    "incident.cap.over": "what the cap {subject} held goes on.",
}
