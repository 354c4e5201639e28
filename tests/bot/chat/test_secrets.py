"""Secrets of a room: the verb, the forms, and what never gets anywhere."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.chat.screening import Screening
from bot.chat.secret_forms import Links, SealedForms
from bot.chat.windows import PersonalWindows
from bot.errors import BadInput, Refused
from bot.ports.chat import Incoming, Place, Speaker
from bot.ports.gateway import InUse
from bot.ports.mcp_servers import How, Listing, TakenTool
from bot.ports.people import Entry, Subject
from bot.ports.plain import plain
from bot.ports.secret_uses import Use, Value
from bot.redaction import Redactor
from tests.bot.chat.conftest import Bench
from tests.bot.chat.network import ANN as MATRIX_ANN
from tests.bot.chat.network import EVE as MATRIX_EVE
from tests.bot.chat.network import Net, room
from tests.bot.chat.slack_net import ANN, BEN, SlackNet, channel

VALUE = "a-value-nobody-reads"
TOKEN = InUse("GITHUB_TOKEN", ("api.github.com",), "GITHUB_TOKEN")
COMMAND = "secret GITHUB_TOKEN api.github.com"


@pytest.fixture
async def slack() -> SlackNet:
    net = SlackNet()
    await net.allow(ANN, "admin")
    await net.allow(BEN, "user")
    return net


@pytest.fixture
async def matrix() -> Net:
    net = Net()
    await net.allow(MATRIX_ANN, "admin")
    await net.allow(MATRIX_EVE, "user")
    return net


class SlackBench:
    """Windows, and what stands before the store."""

    def __init__(self, net: SlackNet) -> None:
        self.net, self.redactor = net, Redactor()
        self.windows = PersonalWindows(net.desk, net.store.records)
        self.sealed = SealedForms(net.store.secrets, self.redactor)
        self.screening = Screening(
            net.intake.receive, net.store.rooms, net.store.outbox, self.redactor, net.manner,
            self.sealed,
        )  # fmt: skip

    def pressed(self, words: str, who: Speaker = ANN) -> Incoming:
        return Incoming("b1", channel(), who, words, 1.0, via="button")

    async def filled(
        self, value: str, words: str = COMMAND, who: Speaker = ANN, id: str = "form:V1"
    ) -> Incoming:
        window = await self.windows.window(self.pressed(words))
        form = (("value", value), *window.fixed, ("act", window.act or ""))
        assert window.place is not None
        return Incoming(id, window.place, who, "", 2.0, via="form", form=form)

    async def submit(self, filled: Incoming) -> dict[str, str]:
        """What is wrong; where nothing is, it is stored and handled."""
        wrong = dict(await self.windows.errors(filled))
        if not wrong:
            await self.screening.receive(filled)
            await self.net.intake.drain()
            await self.net.delivery.drain()
        return wrong

    async def uses(self) -> list[InUse]:
        return [use.secret for use in await self.net.store.secret_uses.of(channel())]


@pytest.fixture
def bench(slack: SlackNet) -> SlackBench:
    return SlackBench(slack)


def said(net: Net, place: Place | None = None) -> list[str]:
    """What was said there, or anywhere, oldest first."""
    posts = net.chat.posts.values()
    return [plain(one.shape) for one in posts if place is None or one.place == place]


def everything(net: Any) -> str:
    """All that the store holds, but for what is sealed."""
    rows = net.store.rows
    said = [row.received.message for row in rows.inbox.values()]
    return repr((said, rows.contents, rows.lines, rows.outbox))


async def test_in_slack_a_button_leads_to_the_form(slack: SlackNet, bench: SlackBench) -> None:
    await slack.command(f"/goal {COMMAND}")

    [post] = slack.chat.posts.values()
    [button] = post.shape.buttons
    assert button.verb == "secret GITHUB_TOKEN api.github.com as GITHUB_TOKEN"
    assert bench.windows.opens(bench.pressed(button.verb))
    window = await bench.windows.window(bench.pressed(button.verb))
    assert [one.name for one in window.inputs] == ["value"]


async def test_what_is_typed_in_the_form_is_sealed_and_nowhere_else(
    slack: SlackNet, bench: SlackBench
) -> None:
    wrong = await bench.submit(await bench.filled(VALUE))

    assert wrong == {}
    assert await bench.uses() == [TOKEN]
    assert await slack.store.secrets.get("secret", "GITHUB_TOKEN") == VALUE
    assert [one.name for one in await slack.store.secrets.names()] == ["GITHUB_TOKEN"]
    assert VALUE not in everything(slack)
    assert bench.redactor.text(VALUE) == "[secret GITHUB_TOKEN]"
    assert "is kept, by Ann Lee" in slack.said_at(channel())[-1]


async def test_a_form_that_comes_twice_counts_once(slack: SlackNet, bench: SlackBench) -> None:
    filled = await bench.filled(VALUE)
    for _ in range(2):
        await bench.screening.receive(filled)
        await slack.intake.drain()

    assert await bench.uses() == [TOKEN]


async def test_who_is_no_admin_gets_no_form(slack: SlackNet, bench: SlackBench) -> None:
    await slack.command(f"/goal {COMMAND}", BEN)
    with pytest.raises(Refused):
        await bench.windows.window(bench.pressed(COMMAND, BEN))
    filled = replace(await bench.filled(VALUE), speaker=BEN)
    wrong = await bench.windows.errors(filled)
    await bench.screening.receive(filled)
    await slack.intake.drain()

    assert "it takes an admin" in said(slack)[0]
    assert list(wrong) == ["value"]
    assert await bench.uses() == []


async def test_what_came_to_nothing_is_swept(slack: SlackNet, bench: SlackBench) -> None:
    await bench.screening.receive(replace(await bench.filled(VALUE), speaker=BEN))
    await slack.intake.drain()
    [left] = await slack.store.secrets.names()

    assert left.name.startswith("entered-")
    assert await bench.sealed.sweep(left.set_at + 1) == 1
    assert await slack.store.secrets.names() == ()


@pytest.mark.parametrize("value", ["", "   ", "short"])
async def test_what_is_no_value_is_said_in_the_form(bench: SlackBench, value: str) -> None:
    wrong = await bench.submit(await bench.filled(value))

    assert list(wrong) == ["value"]


async def test_another_value_keeps_the_hosts(slack: SlackNet, bench: SlackBench) -> None:
    await bench.submit(await bench.filled(VALUE))
    await slack.command("/goal secret GITHUB_TOKEN")

    verb = list(slack.chat.posts.values())[-1].shape.buttons[0].verb
    await bench.submit(await bench.filled("another-value", verb, id="form:V2"))

    assert await bench.uses() == [TOKEN]
    assert await slack.store.secrets.get("secret", "GITHUB_TOKEN") == "another-value"


async def test_without_hosts_it_is_asked_where_it_may_go(slack: SlackNet) -> None:
    await slack.command("/goal secret GITHUB_TOKEN")

    assert "Say where it may go" in said(slack)[-1]


async def test_a_given_one_is_shown_as_readable(slack: SlackNet, bench: SlackBench) -> None:
    await bench.submit(await bench.filled(VALUE, "secret GITHUB_TOKEN given"))
    await slack.command("/goal secret list")

    assert "the agent can read this" in said(slack)[-1]


async def test_a_value_in_a_message_is_neither_kept_nor_taken(
    slack: SlackNet, bench: SlackBench
) -> None:
    command = Incoming(
        "command:c1", channel(), ANN, f"/goal secret GITHUB_TOKEN {VALUE}", 1.0, via="command"
    )
    await bench.screening.receive(command)
    await slack.intake.drain()
    await slack.delivery.drain()

    assert VALUE not in everything(slack)
    assert [text for text in said(slack) if "A value is never said here" in text]
    assert await bench.uses() == []


async def test_one_of_others_is_given_by_who_is_an_admin_everywhere(
    slack: SlackNet, bench: SlackBench
) -> None:
    await slack.store.secrets.put("secret", "SHARED", VALUE, hosts=("api.example.org",))
    subject = Subject("person", "slack", BEN.id)
    await slack.allow_list.allow(Entry(subject, "admin", channel()))

    await slack.command("/goal secret SHARED", BEN)
    refused = said(slack)[-1]
    form = (("secret", "SHARED evil.example"), ("value", VALUE), ("act", "secret"))
    filled = Incoming("form:V9", channel(), BEN, "", 2.0, via="form", form=form)
    wrong = await bench.windows.errors(filled)
    await slack.command("/goal secret SHARED evil.example", ANN)
    bound = said(slack)[-1]
    await slack.command("/goal secret SHARED", ANN)

    assert "A secret of that name is kept for others" in refused
    assert "is kept for others" in wrong["value"]
    assert "is bound to api.example.org" in bound
    assert await bench.uses() == [InUse("SHARED", ("api.example.org",), "SHARED")]


class Looking:
    """Looks at nothing, and keeps who asked."""

    def __init__(self) -> None:
        self.by: list[str] = []

    async def look(self, room: Place, name: str, how: How, *, by: str = "") -> Listing:
        self.by.append(by)
        return Listing((TakenTool("t", "mcp_x_t", "d", {}),), "d" * 64)


@pytest.mark.parametrize(
    "words", ["repo add https://github.com/a/b secret ", "mcp add x https://github.com/mcp secret "]
)
async def test_an_admin_of_a_room_names_no_secret_of_others(slack: SlackNet, words: str) -> None:
    store, looking = slack.store, Looking()
    slack.desk = replace(
        slack.desk, repositories=store.repositories, mcp_servers=store.mcp_servers, looking=looking
    )
    slack.begin_anew()
    await store.secrets.put("secret", "OTHERS", VALUE, hosts=("github.com",))
    await store.secret_uses.keep(channel(), TOKEN, Value(VALUE), by="p")
    subject = Subject("person", "slack", BEN.id)
    await slack.allow_list.allow(Entry(subject, "admin", channel()))

    async def named() -> list[str]:
        repositories = await store.repositories.of(channel())
        servers = await store.mcp_servers.of(channel())
        return [*(one.secret for one in repositories), *(one.how.secret for one in servers)]

    await slack.command(f"/goal room {words}OTHERS", BEN)
    refused, none = said(slack)[-1], await named()
    await slack.command(f"/goal room {words}GITHUB_TOKEN", BEN)
    own = await named()
    await slack.command(f"/goal room {words}OTHERS", ANN)
    lent = await named()
    await slack.command("/goal room mcp take x", BEN)

    assert "`OTHERS` is no secret of this room's" in refused
    assert (none, own, lent) == ([], ["GITHUB_TOKEN"], ["OTHERS"])
    assert len(looking.by) == (2 if words.startswith("mcp") else 0), (
        "what was refused was not looked at"
    )
    assert all(looking.by)


async def test_it_is_taken_away_with_its_value(slack: SlackNet, bench: SlackBench) -> None:
    await bench.submit(await bench.filled(VALUE))
    await slack.command("/goal secret remove GITHUB_TOKEN")
    await slack.command("/goal secret remove GITHUB_TOKEN")

    assert "no longer this room's" in said(slack)[-2]
    assert "has no secret" in said(slack)[-1]
    assert await slack.store.secrets.names() == ()


async def test_the_operators_is_no_room_admins_to_change(
    slack: SlackNet, bench: SlackBench
) -> None:
    await slack.store.secrets.put("secret", "SHARED", VALUE, hosts=("api.example.org",))
    await slack.command("/goal secret SHARED", ANN)
    await slack.allow_list.allow(Entry(Subject("person", "slack", BEN.id), "admin", channel()))
    form = (("secret", "SHARED evil.example"), ("value", "another-value"), ("act", "secret"))
    filled = Incoming("form:V9", channel(), BEN, "", 2.0, via="form", form=form)

    wrong = await bench.windows.errors(filled)
    await bench.screening.receive(filled)
    await slack.intake.drain()
    kept = await bench.uses()
    await slack.command("/goal secret remove SHARED", BEN)

    assert "is kept for others" in wrong["value"]
    assert kept == [InUse("SHARED", ("api.example.org",), "SHARED")]
    assert await bench.uses() == []
    assert await slack.store.secrets.get("secret", "SHARED") == VALUE


# Where there are no windows.


def token_in(texts: list[str]) -> str:
    found = [match[1] for text in texts if (match := re.search(r"/secret\?k=([\w-]+)", text))]
    assert len(found) == 1
    return found[0]


DIRECT = room(name="!direct")


async def linked(net: Net) -> tuple[Links, str, dict[str, str]]:
    net.members.direct.add("!direct")
    await net.say("hello", place=DIRECT)
    await net.say(f"!goal {COMMAND}")
    learnt: dict[str, str] = {}
    links = Links(net.desk, lambda name, value: learnt.update({name: value}))
    return links, token_in(said(net, DIRECT)), learnt


async def test_a_link_goes_to_who_asked_alone_and_works_once(matrix: Net) -> None:
    links, token, learnt = await linked(matrix)

    assert not any("k=" in text for text in said(matrix, room()))
    assert await links.take(token, VALUE)
    assert not await links.take(token, "again-and-again")
    await matrix.delivery.drain()

    [use] = await matrix.store.secret_uses.of(room())
    assert (use.secret, learnt) == (TOKEN, {"GITHUB_TOKEN": VALUE})
    assert await matrix.store.secrets.get("secret", "GITHUB_TOKEN") == VALUE
    assert VALUE not in everything(matrix)
    assert token not in repr(matrix.store.secret_uses.links)
    assert any("is kept, by ann" in text for text in said(matrix, room()))


async def test_a_link_ends_by_itself(matrix: Net) -> None:
    links, token, _ = await linked(matrix)

    matrix.clock.move(901)

    assert await links.open(token) is None
    assert not await links.take(token, VALUE)


async def test_a_link_is_nothing_to_who_may_no_longer(matrix: Net) -> None:
    links, token, learnt = await linked(matrix)
    await matrix.allow(MATRIX_EVE, "admin")
    await matrix.allow_list.remove(Subject("person", "matrix", MATRIX_ANN.id))

    assert not await links.take(token, VALUE)
    assert (learnt, await matrix.store.secret_uses.of(room())) == ({}, ())


async def test_a_wrong_value_leaves_the_link(matrix: Net) -> None:
    links, token, _ = await linked(matrix)

    with pytest.raises(BadInput):
        await links.take(token, "short")

    assert await links.open(token) is not None
    assert not await links.take("another-token", VALUE)


async def test_without_a_direct_chat_it_is_asked_for(matrix: Net) -> None:
    await matrix.say(f"!goal {COMMAND}")

    assert "I know no direct chat with you" in said(matrix, room())[-1]


async def test_without_an_address_the_command_line_is_named(console: Bench) -> None:
    await console.say(f"/goal {COMMAND}")

    [said] = [post.body for post in console.posts.values() if "headway secret set" in post.body]
    assert "headway secret set GITHUB_TOKEN --host api.github.com" in said


@pytest.fixture
def console(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_what_the_operator_kept_is_then_given_to_the_room(console: Bench) -> None:
    await console.store.secrets.put("secret", "GITHUB_TOKEN", VALUE, hosts=("api.github.com",))

    await console.say(f"/goal {COMMAND}")

    [use] = await console.store.secret_uses.of(Place("console", "", "console"))
    assert use == Use(TOKEN, use.by, use.at)
    assert Value().text == ""
