"""What secrets of rooms are kept with, for whoever has a desk."""

from dataclasses import dataclass

from bot.ports.secret_uses import SecretUses


@dataclass(frozen=True, slots=True)
class Keeping:
    """The entries, and the public address below which forms are; empty: there are none."""

    uses: SecretUses
    public_url: str = ""
