"""The in-memory model keeps the promises of its port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.errors import BadRequest, ModelBusy, ModelRefusesUs
from tests.contracts.model import ModelContract, Play, Scene, Stage
from tests.doubles.model import Answer, ScriptedModel, reply, says


def answer_of(scene: Scene) -> Answer:
    match scene.broken:
        case "bad_request":
            return BadRequest("bad", kind="invalid_request")
        case "auth":
            return ModelRefusesUs("refused", kind="auth")
        case "lost":
            return ModelBusy("lost", kind="network", maybe_served=True)
        case None:
            return reply(*scene.content, stop_reason=scene.stop_reason)


class TestScriptedModel(ModelContract):
    @pytest.fixture
    def play(self) -> Play:
        @asynccontextmanager
        async def played(*scenes: Scene) -> AsyncIterator[Stage]:
            answers = [answer_of(scene) for scene in scenes]
            model = ScriptedModel(lambda _: answers.pop(0) if answers else says("Done."))

            async def mend() -> None:
                model.mend()

            yield Stage(model, mend)

        return played
