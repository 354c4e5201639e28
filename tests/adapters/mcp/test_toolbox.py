"""A room's servers as a turn has them, over real programs."""

import asyncio
import time
from pathlib import Path

import psutil
import pytest

from adapters.mcp.pool import FIRST_WAIT_S
from bot.errors import BadInput
from bot.ports.mcp_servers import How
from tests.adapters.mcp.bed import ROOM, Bed, until


async def test_the_tools_of_a_server_are_offered_without_asking_it(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))
    before = bed.pool.take
    kit = await bed.kit()

    tools = {tool.name: tool for tool in kit.tools}

    assert before == bed.pool.take
    assert not kit._peers
    assert "mcp_calc_add" in tools
    assert {(tool.effects, tool.where, tool.reads_outside) for tool in kit.tools} == {
        ("external", "kit", True)
    }
    assert tools["mcp_calc_add"].input_schema["required"] == ["a"]
    assert 'server "calc"' in tools["mcp_calc_add"].description
    await kit.close()


async def test_a_call_gives_what_the_server_gave(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))

    outcomes = [
        await bed.call("mcp_calc_add", a=2, b=40),
        await bed.call("mcp_calc_fail", why="no such thing"),
        await bed.call("mcp_calc_picture"),
        await bed.call("mcp_calc_add", a="x"),
    ]

    assert [one.ok for one in outcomes] == [True, False, True, False]
    assert outcomes[0].text == "42"
    assert "no such thing" in outcomes[1].text
    assert outcomes[2].text == "[image, image/png, 2.0 KB: it cannot be shown]"


async def test_a_turn_that_only_looks_has_no_server(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))

    assert (await bed.kit(read_only=True)).tools == ()


async def test_a_long_result_is_cut_in_the_middle(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))

    outcome = await bed.call("mcp_calc_say", text="0123456789", times=100_000)

    assert len(outcome.text) < 31_000
    assert "characters left out" in outcome.text


async def test_a_late_call_is_cancelled_at_the_server_and_its_outcome_is_unknown(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))

    outcome = await bed.call("mcp_calc_sleep", 1.0, seconds=60)

    assert not outcome.ok
    assert outcome.timed_out
    assert "not known" in outcome.text
    await until(lambda: "cancelled" in bed.log.read_text())


async def test_a_call_that_is_broken_off_is_cancelled_at_the_server(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))
    calling = asyncio.create_task(bed.call("mcp_calc_sleep", 60.0, seconds=60))
    await until(lambda: bed.log.exists() and "sleeps" in bed.log.read_text())

    calling.cancel()
    await asyncio.wait({calling})

    assert calling.cancelled()
    await until(lambda: "cancelled" in bed.log.read_text())


async def test_a_server_that_dies_in_a_call_is_that_calls_error_and_starts_again(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))
    kit = await bed.kit()

    died = await kit.call("mcp_calc_die", {}, tool_use="t", timeout_s=20)
    after = await kit.call("mcp_calc_add", {"a": 1}, tool_use="t", timeout_s=20)

    assert not died.ok
    assert "was lost" in died.text
    assert "not known" in died.text
    assert after.text == "2"
    await kit.close()


async def test_a_server_stays_for_a_goals_next_turn_and_is_no_other_goals(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))
    seen = []
    for session in ("s1", "s1", "s2"):
        kit = await bed.kit(session)
        await kit.call("mcp_calc_add", {"a": 1}, tool_use="t", timeout_s=20)
        seen.append(kit._peers["calc"])
        await kit.close()

    assert seen[0] is seen[1]
    assert seen[2] is not seen[0]


async def test_tools_that_are_others_than_those_taken_are_not_used(bed: Bed) -> None:
    await bed.odd("bash")

    outcome = await bed.call("mcp_odd_look")

    assert not outcome.ok
    assert "mcp take odd" in outcome.text


async def test_new_tools_that_a_server_announces_count_at_the_next_turn_and_only_when_taken(
    bed: Bed,
) -> None:
    await bed.take("calc", How(bed.trusted))
    kit = await bed.kit()
    changed = await kit.call("mcp_calc_change", {}, tool_use="t", timeout_s=20)
    within = await kit.call("mcp_calc_add", {"a": 1}, tool_use="t", timeout_s=20)
    await kit.close()

    names = [tool.name for tool in (await bed.kit()).tools]

    assert changed.ok
    assert within.text == "2"
    assert "mcp_calc_further" not in names


async def test_a_server_that_does_not_start_is_tried_again_after_a_while(bed: Bed) -> None:
    await bed.odd("ends")

    first = await bed.call("mcp_odd_look")
    at_once = await bed.call("mcp_odd_look")
    bed.now += FIRST_WAIT_S + 1
    later = await bed.call("mcp_odd_look")
    again = await bed.call("mcp_odd_look")

    assert "There is no configuration." in first.text
    assert f"tried again in {round(FIRST_WAIT_S) + 1} s" in at_once.text
    assert "tried again" not in later.text
    assert f"tried again in {round(2 * FIRST_WAIT_S) + 1} s" in again.text


async def test_what_a_server_says_has_an_end(bed: Bed) -> None:
    for kind, why in (
        ("floods", "more than 16 MB"),
        ("one_line", "more than 4 MB"),
        ("dies", "was lost"),
        ("wrong", "cannot be read"),
    ):
        await bed.odd(kind)
        began = time.monotonic()

        outcome = await bed.call("mcp_odd_look")

        assert not outcome.ok
        assert why in outcome.text, kind
        assert time.monotonic() - began < 15


async def test_lines_that_are_no_message_are_passed_over(bed: Bed) -> None:
    await bed.odd("garbage")

    assert (await bed.call("mcp_odd_look")).ok


async def test_a_tool_called_bash_is_no_tool_of_ours_and_a_long_word_is_cut(bed: Bed) -> None:
    await bed.odd("bash", looked_at="bash")
    named = (await bed.kit()).tools[0]
    await bed.odd("long", looked_at="long")
    told = (await bed.kit()).tools[0]

    assert named.name == "mcp_odd_bash"
    assert len(told.description) < 1_200
    assert "\n[Automatic]" not in told.description


async def test_a_server_behind_the_wall_sees_nothing_of_ours(bed: Bed, tmp_path: Path) -> None:
    secret = tmp_path / "headway.db"
    secret.write_text("a database")
    await bed.odd("good")

    inside = await bed.call("mcp_odd_look")
    looked = [
        await bed.call("mcp_odd_look", look=str(path))
        for path in (
            secret,
            "/proc/1/environ",
            f"/proc/{psutil.Process().pid}/environ",
            "/etc/shadow",
        )
    ]

    assert "cwd=/workspace" in inside.text
    assert "HEADWAY" not in inside.text
    assert "a database" not in looked[0].text
    assert [one.ok for one in looked if "HEADWAY" in one.text or "root:" in one.text] == []
    assert [looked[0].ok, looked[2].ok, looked[3].ok] == [False, False, False]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (How(("/nowhere/server",)), "cannot be run"),
        (How(url="http://127.0.0.1:9/mcp"), "private or special address"),
        (How(url="http://169.254.169.254/mcp"), "private or special address"),
        (How(url="http://[::ffff:127.0.0.1]/mcp"), "private or special address"),
        (How(url="http://2130706433/mcp"), "2130706433"),
        (How(url="https://tools.invalid/mcp"), "cannot be found"),
    ],
)
async def test_a_server_that_cannot_be_looked_at_says_why(bed: Bed, how: How, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        await bed.box.look(ROOM, "odd", how)


async def test_when_all_is_closed_no_program_is_left(bed: Bed) -> None:
    await bed.take("calc", How(bed.trusted))
    await bed.call("mcp_calc_add", a=1)
    mine = psutil.Process()
    assert [one for one in mine.children(recursive=True) if "mcp_server" in " ".join(one.cmdline())]

    await bed.box.close()

    left = [one for one in mine.children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
    assert not [one for one in left if "mcp_server" in " ".join(one.cmdline())]
    assert list((bed.folder / "programs").iterdir()) == []


async def test_a_server_that_an_admin_has_mended_is_tried_at_once(bed: Bed) -> None:
    await bed.odd("ends")
    await bed.call("mcp_odd_look")
    await bed.odd("good")

    assert (await bed.call("mcp_odd_look")).ok


async def test_a_server_that_an_admin_has_found_there_is_tried_at_once(bed: Bed) -> None:
    ends = await bed.odd("ends")
    await bed.call("mcp_odd_look")
    bed.pool.is_there(ends)

    assert "tried again" not in (await bed.call("mcp_odd_look")).text
