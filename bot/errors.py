"""
Every error of Headway, split by who must act.

    HeadwayError
    ├── Wait                     nobody: it passes by itself
    │   ├── ModelBusy            overload, rate limit, time-out, network
    │   ├── StoreBusy            the database is locked or out of reach for the moment
    │   └── OutcomeUnknown       a send may have arrived: it is looked up
    ├── ByPerson                 the person in the chat
    │   ├── Refused              a command that does not fit the goal's state or the person's rights
    │   ├── BadInput             text that cannot be taken as it is
    │   └── BadRequest           the model refused this goal's request (invalid, refusal)
    ├── ByOperator               whoever runs the process
    │   ├── BadSettings          a setting is unknown, misspelt or out of range
    │   ├── ModelRefusesUs       the key, the bill or a permission of the endpoint
    │   ├── StoreUnusable        unreadable, newer, owned by another process, disk full
    │   ├── SecretsUnusable      the key file, or what is sealed under it, cannot be used
    │   └── NoSandbox            no working sandbox: tools are off
    └── Ours                     a defect of Headway
        └── IllegalMove          an event that the goal's state does not take

Each message says what happened, then the mend.
"""


class HeadwayError(Exception):
    """What happened, then what to do about it."""

    exit_code = 1


class Wait(HeadwayError):
    """It passes by itself."""

    exit_code = 75

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelBusy(Wait):
    """The endpoint is overloaded, limits us, timed out or cannot be reached.

    `kind` is one of `overload`, `rate_limit`, `timeout`, `network`. `maybe_served` is true when
    the endpoint may have produced (and billed) a reply that never arrived.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        retry_after_s: float | None = None,
        maybe_served: bool = False,
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.kind = kind
        self.maybe_served = maybe_served


class StoreBusy(Wait):
    """The database is locked or out of reach for the moment."""


class OutcomeUnknown(Wait):
    """A send may or may not have arrived: it is looked up before anything else."""


class ByPerson(HeadwayError):
    """The person in the chat can mend it."""

    exit_code = 2


class Refused(ByPerson):
    """A command that does not fit the goal's state or the person's rights.

    `code` names the sentence in the catalogue of texts: `final`, `already_paused`, `active`,
    `open_decision`, `no_money`, `stays`, `too_late`, `ordinary`, `over_budget` ...
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class BadInput(ByPerson):
    """Text that cannot be taken as it is."""


class BadRequest(ByPerson):
    """The model refused this goal's request; `kind` is `invalid_request` or `refusal`."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class ByOperator(HeadwayError):
    """Whoever runs the process must act."""

    exit_code = 78


class BadSettings(ByOperator):
    """A setting is unknown, misspelt or out of range."""


class ModelRefusesUs(ByOperator):
    """The endpoint refuses the key; `kind` is `auth`, `billing`, `permission` or `not_found`."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class StoreUnusable(ByOperator):
    """The database is unreadable, newer than this version, owned by another process or full."""

    exit_code = 74


class SecretsUnusable(ByOperator):
    """The secret key cannot be read or trusted, or a sealed secret does not open under it."""


class AlreadyOwned(StoreUnusable):
    """Another process owns the state folder: it can be spoken to instead."""


class NoSandbox(ByOperator):
    """No working sandbox: the agent's tools are off until there is one."""


class Ours(HeadwayError):
    """A defect of Headway, or a race that its own code must resolve."""

    exit_code = 70


class IllegalMove(Ours):
    """An event that the goal's state does not take; nothing has changed."""
