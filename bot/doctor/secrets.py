"""The check of the secret key and of what is sealed under it; no value is shown."""

import asyncio

from bot.doctor.finding import warning, wrong
from bot.errors import StoreBusy, StoreUnusable
from bot.settings import Settings
from bot.wiring.keys import key_source
from bot.wiring.secrets import listed


def sealed(settings: Settings) -> str:
    """Whether the key can be used and every secret opens under it.

    Raises:
        SecretsUnusable: the key file cannot be read or trusted.
    """
    keys = key_source(settings).read()
    where = "in a setting" if settings.secret_key.get_secret_value() else f"in {settings.key_file}"
    try:
        found = asyncio.run(listed(settings))
    except (StoreBusy, StoreUnusable):
        return "not looked at: the database comes first"
    troubles = [told for told in found.values() if told]
    if troubles:
        raise wrong(troubles[0])
    if not keys:
        return f"none; the key is made {where} when the first one is set"
    count = f"{len(found)} sealed" if found else "none yet"
    if len(keys) > 1:
        raise warning(
            f"{count}; {len(keys)} keys {where}. The older ones are for older backups: take them "
            "away when no backup needs them."
        )
    return f"{count} under the key {keys[0].id} {where}"
