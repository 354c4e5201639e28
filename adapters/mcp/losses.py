"""How a server fails: it is not there, or it is and a call of it failed."""


class Lost(Exception):
    """The server is not there, or no longer; says why."""


class CallFailed(Exception):
    """The server is there and answered a call with an error, or not in time."""

    def __init__(self, why: str, *, is_late: bool = False) -> None:
        super().__init__(why)
        self.is_late = is_late
