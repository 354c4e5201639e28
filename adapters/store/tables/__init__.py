"""
The schema: SQLModel classes, one a table.

Rule 1: erasable text is in `content` alone, under its session and hash; every other table holds ids,
        codes, hashes and numbers.
Rule 2: times are seconds since 1970, UTC; money is whole nano-dollars; JSON is text.
Rule 3: `event` only grows: triggers refuse updates and deletes.
"""

from adapters.store.tables.erasures import Erasure
from adapters.store.tables.goals import (
    Checkpoint,
    Content,
    Event,
    Goal,
    Lease,
    Reservation,
    Session,
)
from adapters.store.tables.guard import Hold, Incident, Secret, Tally
from adapters.store.tables.hands import FormLink, McpServer, Repository, SecretUse
from adapters.store.tables.installs import Charge, Install, InstallState, WayBack
from adapters.store.tables.mail import Endpoint, Inbox, Outbox
from adapters.store.tables.networks import Attachment, NetworkPosition, SealedEvent
from adapters.store.tables.people import Claim, Grant, Offer, Person, Room, Told
from adapters.store.tables.plans import Artifact, Fact, Occurrence, Schedule, Watch
from adapters.store.tables.root import METADATA
from adapters.store.tables.upkeep import Restored
from adapters.store.tables.work import Audit, Decision, Step, Task, Turn, Wait

__all__ = [
    "METADATA",
    "Artifact",
    "Attachment",
    "Audit",
    "Charge",
    "Checkpoint",
    "Claim",
    "Content",
    "Decision",
    "Endpoint",
    "Erasure",
    "Event",
    "Fact",
    "FormLink",
    "Goal",
    "Grant",
    "Hold",
    "Inbox",
    "Incident",
    "Install",
    "InstallState",
    "Lease",
    "McpServer",
    "NetworkPosition",
    "Occurrence",
    "Offer",
    "Outbox",
    "Person",
    "Repository",
    "Reservation",
    "Restored",
    "Room",
    "Schedule",
    "SealedEvent",
    "Secret",
    "SecretUse",
    "Session",
    "Step",
    "Tally",
    "Task",
    "Told",
    "Turn",
    "Wait",
    "Watch",
    "WayBack",
]
