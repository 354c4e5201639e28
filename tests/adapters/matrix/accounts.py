"""Accounts of the bot for the tests: a file, a key, a login on a real homeserver."""

import time
from pathlib import Path

from adapters.keys.sealing import KeySealing
from adapters.keys.source import KeyFile
from adapters.matrix.account import AccountFile
from adapters.matrix.login import Done, Proof, log_in
from tests.peers.synapse import Account as User
from tests.peers.synapse import Synapse


def account_file(folder: Path) -> AccountFile:
    """That of a state folder below `folder`, with its key beside the state folder."""
    state = folder / "state"
    key = KeyFile(folder / "secret.key", apart_from=state)
    return AccountFile(state / "matrix", KeySealing(key))


async def logged_in(file: AccountFile, synapse: Synapse, user: User) -> Done:
    """Log the bot in by its password."""
    proof = Proof(user.user_id, user.password)
    return await log_in(file, synapse.url, proof, now=time.time(), is_first_secret=True)
