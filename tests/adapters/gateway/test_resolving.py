"""Names are looked up in threads: one goal's that do not answer hold up no other's."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from adapters.gateway.verdicts import OF_ONE, THREADS, Denied, SystemResolve, Verdicts
from bot.ports.gateway import Reach


async def test_names_that_do_not_answer_hold_up_their_own_goal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()
    looked: list[str] = []

    def addresses(name: str) -> Sequence[str]:
        looked.append(name)
        if name.startswith("slow"):
            go_on.wait(20)
        return ["93.184.215.14"]

    monkeypatch.setattr("adapters.gateway.verdicts._addresses", addresses)
    system = SystemResolve()
    theirs, ours = (Verdicts(system.of_one(), {}, 0.3) for _ in range(2))
    everywhere = Reach(is_open=True)
    # Nobody waits for them any more once they are late; their threads are held still.
    late = await asyncio.gather(
        *(theirs.way(everywhere, f"slow{at}.example", 443) for at in range(2 * THREADS)),
        return_exceptions=True,
    )
    held = len(looked)

    way = await ours.way(everywhere, "pypi.org", 443)
    go_on.set()
    await asyncio.sleep(0.1)
    own = await theirs.way(everywhere, "pypi.org", 443)
    system.close()

    assert all(isinstance(one, Denied) for one in late)
    assert (held, way.addresses, own.addresses) == (OF_ONE, ("93.184.215.14",), ("93.184.215.14",))
