"""People and places of Slack that are not known yet, and are later."""

from bot.errors import Wait
from bot.ports.mail import NEW
from bot.ports.people import Entry, Subject
from tests.bot.chat.slack_net import ANN, EVE, SlackNet, channel


async def test_a_thread_is_found_once_its_first_message_is_there(slack: SlackNet) -> None:
    await slack.allow(ANN)
    slack.chat.will_raise.append(Wait("Later."))
    await slack.command("/goal write a haiku about tides")
    [goal] = await slack.goals()
    before = await slack.allow_list.home(goal.session)

    slack.clock.move(60)
    await slack.delivery.drain()

    assert before.thread.startswith(NEW)
    assert await slack.allow_list.home(goal.session) == channel(slack.root())


async def test_who_asks_for_access_is_called_by_name_and_so_are_admins_whose_name_is_known(
    slack: SlackNet,
) -> None:
    await slack.allow_list.allow(Entry(Subject("person", "slack", "T01TEST:U09NEW"), "admin"))
    await slack.command("/goal list", EVE)

    await slack.press("/goal access", slack.whisper(EVE), EVE)

    [card] = slack.said_at(channel())
    assert card.startswith("For the admins: eve asks for access. `/goal allow @eve` lets them")
