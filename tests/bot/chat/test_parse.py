"""What a text says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.amounts import Amount, read_amount
from bot.chat.parse import Command, Greeting, Speech, Talk, opens_thread, parse
from bot.chat.texts import Texts
from bot.chat.verbs import VERBS
from bot.errors import BadInput
from bot.goals.money import NANO

TEXTS = Texts()
ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=200)
VERB_WORDS = st.sampled_from(sorted(VERBS))


def command(text: str, *, in_thread: bool = False) -> Command:
    said = parse(text, TEXTS, in_thread=in_thread)
    assert isinstance(said, Command)
    return said


@given(ANY_TEXT, st.booleans(), st.sampled_from(["", "/goal ", "!goal ", "//"]))
def test_any_text_says_something_or_is_bad_input(text: str, in_thread: bool, before: str) -> None:
    try:
        said = parse(before + text, TEXTS, in_thread=in_thread)
    except BadInput:
        return

    assert isinstance(said, Talk | Greeting | Command | Speech)


@given(VERB_WORDS, ANY_TEXT, st.booleans())
def test_a_verb_with_any_text_behind_it_says_something_or_is_bad_input(
    verb: str, text: str, in_thread: bool
) -> None:
    try:
        said = parse(f"/goal {verb} {text}", TEXTS, in_thread=in_thread)
    except BadInput:
        return

    assert isinstance(said, Command | Greeting)


@given(st.text(alphabet="abcdefgh 123", min_size=1).filter(lambda t: t.strip()))
def test_words_in_a_thread_are_never_lost(text: str) -> None:
    said = parse(f"please {text}", TEXTS, in_thread=True)

    assert said == Speech(f"please {text}".strip())


@given(ANY_TEXT)
def test_text_behind_two_slashes_is_for_nobody(text: str) -> None:
    assert parse("//" + text, TEXTS, in_thread=True) == Talk()


@pytest.mark.parametrize("name", ["/goal", "!goal", "/GOAL", "!Goal"])
def test_the_commands_name_may_be_written_in_several_ways(name: str) -> None:
    assert command(f"{name} pause").verb.name == "pause"


@pytest.mark.parametrize(
    "text",
    [
        "pause the pipeline when it fails",
        "stop the presses",
        "status page for the shop",
        "list all files and their sizes",
        "help me write a letter",
        "budget for the party",
        "cancel my subscription",
        "resume of my life in one page",
        "search the web for tides",
        "open a ticket about the printer",
        "list G1",
        "fix G1",
        "stats of the week",
    ],
)
def test_a_verb_outside_its_syntax_begins_an_objective(text: str) -> None:
    said = command(f"/goal {text}")

    assert said.verb.name == ""
    assert said.text == text


@pytest.mark.parametrize(
    ("text", "verb", "goal"),
    [
        ("pause G12", "pause", 12),
        ("pause g12", "pause", 12),
        ("PAUSE", "pause", None),
        ("edit G3 do less", "edit", 3),
        ("edit G3: do less", "edit", 3),
        ("reopen G3 the tests are missing", "reopen", 3),
        ("budget G3 +2", "budget", 3),
        ("cancel G3 yes", "cancel", 3),
    ],
)
def test_every_command_takes_a_goal(text: str, verb: str, goal: int | None) -> None:
    said = command(f"/goal {text}")

    assert (said.verb.name, said.goal) == (verb, goal)


def test_a_bare_command_counts_only_as_the_whole_message() -> None:
    assert parse("please stop", TEXTS, in_thread=True) == Speech("please stop")
    assert parse("stop that", TEXTS, in_thread=True) == Speech("stop that")
    assert command("stop", in_thread=True).is_bare


def test_a_later_verb_with_words_behind_it_is_speech_in_a_thread() -> None:
    assert parse("next for the tides", TEXTS, in_thread=True) == Speech("next for the tides")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("5 USD", Amount("usd", 5 * NANO)),
        ("$5", Amount("usd", 5 * NANO)),
        ("5$", Amount("usd", 5 * NANO)),
        ("0.50", Amount("usd", NANO // 2)),
        ("2,5 usd", Amount("usd", 5 * NANO // 2)),
        ("+2", Amount("usd", 2 * NANO, is_added=True)),
        ("+$2", Amount("usd", 2 * NANO, is_added=True)),
        ("$+2", Amount("usd", 2 * NANO, is_added=True)),
        ("500k tokens", Amount("tokens", 500_000)),
        ("+1.5M tokens", Amount("tokens", 1_500_000, is_added=True)),
        ("6 h", Amount("hours", 6 * 3600)),
        ("+2 hours", Amount("hours", 7200, is_added=True)),
        ("a lot", None),
        ("$5 tokens", None),
        ("", None),
    ],
)
def test_amounts_as_people_write_them(text: str, amount: Amount | None) -> None:
    assert read_amount(text, TEXTS) == amount


@given(st.text(max_size=40))
def test_any_text_is_an_amount_or_none_or_bad_input(text: str) -> None:
    try:
        amount = read_amount(text, TEXTS)
    except BadInput:
        return

    assert amount is None or amount.value >= 0


def test_a_raise_may_go_on_at_once() -> None:
    said = command("budget +2 and resume", in_thread=True)

    assert said.amount == Amount("usd", 2 * NANO, is_added=True, resumes=True)


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("/goal ...", "An objective needs words"),
        ('/goal ""', "An objective needs words"),
        ("/goal Fix it!", "Nobody could tell when"),
        ("/goal please make it work", "Nobody could tell when"),
        ("/goal approve 1", "`approve 1` answers a card, so no goal was started."),
        ("/goal approve G12 1", "answers a card"),
        ("@headway Approve!", "answers a card"),
        ("/goal approve always 2", "answers a card"),
        ("/goal deny", "answers a card"),
        ("/goal yes", "answers a card"),
        ("/goal plan reject", "answers a card"),
        ("/goal edit", "needs the new objective"),
        ("/goal ask", "needs a question"),
        ("/goal reopen", "needs what is missing"),
        ("/goal a\0b", "NUL"),
        ("/goal a\udc80b", "UTF-8"),
        ("/goal " + "x" * 100 * 1024, "Put it in a file"),
        ("/goal budget 5 apples", "no amount"),
        ("/goal statsu G1", "Did you mean `status G1`"),
        ("/goal pasue", "Did you mean `pause`"),
    ],
)
def test_what_cannot_be_taken_says_the_mend(text: str, mend: str) -> None:
    with pytest.raises(BadInput, match=mend):
        parse(text, TEXTS, in_thread=False)


def test_an_objective_over_several_lines_is_kept_as_it_is() -> None:
    said = command("/goal write a poem\n\n- short\n- about tides")

    assert said.text == "write a poem\n\n- short\n- about tides"


def test_the_bare_name_is_a_question_for_help() -> None:
    assert parse("/goal", TEXTS, in_thread=False) == Greeting(is_bare=True)
    assert parse("/goals are good", TEXTS, in_thread=False) == Talk()


def test_only_objectives_and_questions_open_threads() -> None:
    assert opens_thread("/goal write a poem", TEXTS)
    assert opens_thread("/goal ask why?", TEXTS)
    assert not opens_thread("/goal list", TEXTS)
    assert not opens_thread("/goal \0", TEXTS)
    assert not opens_thread("write a poem", TEXTS)
