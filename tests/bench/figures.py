"""What a measurement gives: named numbers with a unit, beside those of a peer where there is one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One number: `value` in `unit`; `ratio` is ours over the peer's unless the name says else."""

    name: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None

    def as_line(self) -> dict[str, str | float]:
        """Return the keys name, value and unit, and those of the peer where there is one."""
        line: dict[str, str | float] = {"name": self.name, "value": self.value, "unit": self.unit}
        if self.peer is not None:
            line["peer"] = self.peer
        if self.peer_value is not None:
            line["peer_value"] = self.peer_value
        if self.ratio is not None:
            line["ratio"] = self.ratio
        return line
