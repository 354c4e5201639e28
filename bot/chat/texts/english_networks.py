"""The sentences in English that chat networks need beside the shapes; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

NETWORKS: Final[Mapping[str, str]] = {
    "network.whole": "The whole text is in `{name}`.",
    "network.origin": "Asked for here",
    "network.lost": "{name} cannot be sent here.",
    "network.reacts": "React, or say the number or the words.",
    "network.says": "Say the words; reactions do not count here.",
    "network.freely": "Your own words do as well.",
    "network.openly": "Answer in your own words.",
    "network.unreadable": (
        "I cannot read what {name} wrote: the key of that message has not come. Send it again; if that "
        "does not help, leave this room and come back, or write to me in a room without encryption."
    ),
}
