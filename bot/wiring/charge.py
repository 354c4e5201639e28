"""Whether this process serves an app that several processes of one database could serve."""


class Charge:
    """A flag that many look at and one sets."""

    def __init__(self, *, is_held: bool = False) -> None:
        self.is_held = is_held
