"""The adapter keeps the promises of its port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.rehearsal.script import Answer, Fault, Reply
from tests.adapters.claude.serving import claude, one_by_one
from tests.contracts.model import ModelContract, Play, Scene, Stage
from tests.peers.messages_api import KEY, in_loop


def answer_of(scene: Scene) -> Answer:
    said = Reply(tuple(dict(block) for block in scene.content), stop_reason=scene.stop_reason)
    match scene.broken:
        case "bad_request":
            return Fault(status=400)
        case "auth":
            raise AssertionError("a refused key is the server's, not the script's")
        case "lost":
            return Fault("cut_mid_stream", reply=said)
        case None:
            return said


class TestClaudeModel(ModelContract):
    @pytest.fixture
    def play(self) -> Play:
        @asynccontextmanager
        async def played(*scenes: Scene) -> AsyncIterator[Stage]:
            is_refused = any(scene.broken == "auth" for scene in scenes)
            answers = [answer_of(scene) for scene in scenes if scene.broken != "auth"]
            async with in_loop(one_by_one(*answers)) as api, claude(api) as model:
                if is_refused:
                    await api.keys(revoke=(KEY,))

                async def mend() -> None:
                    await api.keys(accept=(KEY,))

                yield Stage(model, mend)

        return played
