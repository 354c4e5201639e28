"""A small agent for the scripts' tests: a real client, a transcript, real files, a shell."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic

from tests.adapters.rehearsal.conversation import FORCED, MODEL, VERDICT

NAMES = (
    *("read", "write", "edit", "glob", "grep", "bash"),
    *("ask_person", "wait_for", "plan", "finish_note"),
)
TOOLS: list[Any] = [{"name": name, "input_schema": {"type": "object"}} for name in NAMES]
AUDIT_TOOLS: list[Any] = [VERDICT]


class Agent:
    """Runs turns until the model calls nothing more, and audits."""

    def __init__(
        self,
        client: AsyncAnthropic,
        root: Path,
        objective: str,
        answer: Callable[[str], str] = lambda _: "The answer was: yes",
    ) -> None:
        self.client, self.root, self.objective, self.answer = client, root, objective, answer
        self.messages: list[Any] = [{"role": "user", "content": objective}]
        self.called: list[str] = []
        self.said = ""

    async def turn(self) -> str:
        """One turn; the last reply."""
        for _ in range(30):
            message = await self.client.messages.create(
                model=MODEL, max_tokens=4096, tools=TOOLS, messages=self.messages
            )
            content = [block.to_dict() for block in message.content]
            self.messages.append({"role": "assistant", "content": content})
            results = [
                {"type": "tool_result", "tool_use_id": b.id, "content": self._run(b.name, b.input)}
                for b in message.content
                if b.type == "tool_use"
            ]
            if not results:
                self.said = "\n".join(b.text for b in message.content if b.type == "text")
                return self.said
            self.messages.append({"role": "user", "content": results})
        raise AssertionError("the turn does not end")

    def hear(self, words: str) -> None:
        """A message between turns."""
        self.messages.append({"role": "user", "content": words})

    async def audit(self) -> dict[str, Any]:
        """The verdict on the last turn."""
        forced: Any = FORCED
        about = f"Objective:\n{self.objective}\n\nFinal reply:\n{self.said}"
        message = await self.client.messages.create(
            model=MODEL,
            max_tokens=1024,
            tools=AUDIT_TOOLS,
            tool_choice=forced,
            messages=[{"role": "user", "content": about}],
        )
        block: Any = message.content[0]
        return dict(block.input)

    def _run(self, name: str, given: Any) -> str:
        self.called.append(name)
        match name:
            case "read":
                return (self.root / given["path"]).read_text("utf-8")
            case "write":
                path = self.root / given["path"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(given["content"], "utf-8")
                return "written"
            case "glob":
                return "\n".join(sorted(p.name for p in self.root.glob(given["pattern"]))) or "none"
            case "bash" | "grep":
                command = given.get("command") or f"grep -r '{given['pattern']}' {given['path']}"
                ran = subprocess.run(
                    ["sh", "-c", command],
                    cwd=self.root,
                    capture_output=True,
                    text=True,
                    timeout=20,
                    check=False,
                )
                return ran.stdout + ran.stderr or "nothing"
            case "ask_person":
                return self.answer(given["question"])
            case _:
                return "noted"
