"""The sentences in English about a restored database; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

UPKEEP: Final[Mapping[str, str]] = {
    "restore.head": "Restored {at} from a backup of {made_at} (made by Headway {made_by}). "
    "What was said, done, posted and forgotten since the backup is not known here.",
    "restore.no_goals": "Goals: none.",
    "restore.goals": "Goals: {goals}.",
    "restore.call": "G{goal}: a call of the model ({name}) was under way. What became of it is "
    "unknown: it is charged {tokens} tokens, {usd}, and made again.",
    "restore.tool": "G{goal}: {name} was running. What became of it is unknown: the agent is told "
    "to look.",
    "restore.dollars": "{usd} at most",
    "restore.no_price": "at a price that is not known",
    "restore.look_up": "Posts not known to be sent: {count}. Each is looked up in its thread "
    "first, and sent only where it is not there.",
    "restore.posted": "Goals that may have posted since the backup: {goals}. Before they post "
    "anything, it is looked up whether it is there already.",
    "restore.decision": "G{goal}: {name} is open. Its clock stood since the backup: until {at} if "
    "released now.",
    "restore.decision_over": "G{goal}: {name} is open; its time passed {at}, before the backup, so it expires.",
    "restore.queued": "In the queue: {goals}. Each starts when a live goal ends.",
    "restore.queued.more": "{goals}, … ({count} more)",
    "restore.more": "… and {count} more.",
    "restore.wait": "G{goal}: waits ({name}) until {at}.",
    "restore.wait_over": "G{goal}: waits ({name}); its time passed {at}, so it goes on.",
    "restore.unhandled": "Messages taken in and not handled: {count}. They are handled.",
    "restore.missed": "Occurrences whose time has passed: {count}. They are not made up for.",
    "restore.sealed": "Sealed secrets: {count}. They open with the key file that sealed them, which is "
    "in no backup.",
    "restore.installs": "Installed in: {names}. The tokens are those of the backup: one that was renewed "
    "or revoked since is refused, and that workspace installs the app again.",
    "restore.held": "Nothing runs, fires or is sent until `{program} release`.",
}
