"""Command lines read as shell: what is plain, and what bash makes of it."""

import subprocess
import tempfile

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from bot.tools.policy.shell import NOTHING, Word, read_line

PLAIN = {
    "ls -la 'a b' \"c\"": [["ls", "-la", "a b", "c"]],
    "ls; rm x": [["ls"], ["rm", "x"]],
    "ls\nrm x\n": [["ls"], ["rm", "x"]],
    "ls && cat x || true": [["ls"], ["cat", "x"], ["true"]],
    "cat a | grep -n b | head -5": [["cat", "a"], ["grep", "-n", "b"], ["head", "-5"]],
    "ls 2>/dev/null": [["ls"]],
    "ls >/dev/null 2>&1; cat x": [["ls"], ["cat", "x"]],
    "cat < f": [["cat"]],
    "l\\s": [["ls"]],
    "\\ls": [["ls"]],
    "'l's": [["ls"]],
    "ls '' x": [["ls", "", "x"]],
    "echo \"a;rm b\" 'c && d'": [["echo", "a;rm b", "c && d"]],
    'git commit -m "it\'s"': [["git", "commit", "-m", "it's"]],
    "ls 'a\nb'": [["ls", "a\nb"]],
    "find . \\( -name a \\)": [["find", ".", "(", "-name", "a", ")"]],
    "python x.py": [["python", "x.py"]],
    "python3.12 -m pytest -q": [["python3.12", "-m", "pytest", "-q"]],
    "command -v git": [["command", "-v", "git"]],
    "echo a#b": [["echo", "a#b"]],
    "grep naïve ünder": [["grep", "naïve", "ünder"]],
}

NOT_PLAIN = [
    "ls && $(x)",
    "ls `x`",
    'ls "$(x)"',
    "cat <(ls)",
    "tee >(sh)",
    "ls > f",
    "ls >> f",
    "ls 2> f",
    "ls &> f",
    "ls >| f",
    "ls <> f",
    "ls >&f",
    "3>f ls",
    "> f",
    "cat <<EOF\n$(x)\nEOF",
    "cat <<'EOF'\nx\nEOF",
    "cat <<< x",
    "ls\\\n -l",
    "a=1 ls",
    "PATH=. ls",
    "a=1",
    "a=$(x)",
    "export PATH=.",
    "declare -x a",
    "unset PATH",
    "ls $X",
    "ls ${X}",
    "ls $((1))",
    "$X",
    "ls $'a'",
    "$'ls'",
    'ls $"a"',
    'ls "a\\$b"',
    "ls &",
    "ls & rm x",
    "! ls",
    "{ ls; }",
    "(ls)",
    "if true; then ls; fi",
    "for f in a; do ls; done",
    "while true; do ls; done",
    "case x in x) ls;; esac",
    "[[ -f x ]]",
    "[ -f x ]",
    "((1))",
    "ls() { rm x; }",
    "function ls { rm x; }",
    "coproc ls",
    "time ls",
    "ls # rm",
    "# ls",
    "ls |& cat",
    "ls;;",
    "ls |",
    "ls &&",
    "ls 'a",
    "ls \\",
    "ls\n\\rm x",
    "then ls",
    "ls @(a|b)",
    "eval ls",
    "exec ls",
    ". x",
    "source x",
    "alias ls=rm",
    "sh -c ls",
    "bash x.sh",
    "/bin/sh x.sh",
    "sudo ls",
    "env ls",
    "env",
    "xargs rm",
    "ls | xargs rm",
    "nohup ls",
    "timeout 5 ls",
    "nice ls",
    "awk '{print}' x",
    "sed -n p x",
    "ssh host ls",
    "python -c 'x'",
    "python",
    "python -",
    "python -m",
    "node -e x",
    "find . -exec rm {} +",
    "find . -execdir rm x",
    "find . -ok rm x",
    "*",
    "éls x",
    "ls\r",
    "ls\x0brm",
    "ls\x00",
    "ls\u00a0-l",
    "ls\u2028rm",
    "ls \u202ex",
    "ls \ud800",
    "",
    " \n",
]


def texts(line: str) -> list[list[str]]:
    return [[word.text for word in command] for command in read_line(line).commands]


@pytest.mark.parametrize("line", PLAIN)
def test_simple_commands_are_read_word_for_word(line: str) -> None:
    assert read_line(line).is_plain
    assert texts(line) == PLAIN[line]


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_whatever_is_more_than_simple_commands_is_not_plain(line: str) -> None:
    assert not read_line(line).is_plain


@pytest.mark.parametrize(
    "line",
    [
        "$X a",
        "eval ls",
        "sh -c ls",
        "ls | xargs rm",
        "$(x)",
        "python -c 'x'",
        "find . -exec rm {} +",
        "time ls",
        "`x` y",
        "ls 'a",
        "ls\r",
        "*",
        "let 'a[$(rm x)]=1'",
        "declare 'a[$(rm x)]=1'",
        "export A=1",
        "unset 'a[$(rm x)]'",
        "[[ -v 'a[$(rm x)]' ]]",
        "[ -v 'a[$(rm x)]' ]",
        "test -v 'a[$(rm x)]'",
        'test "$o" "$v"',
        "(( 'a[$(rm x)]' ))",
        "for ((i=a;i<1;i++)); do ls; done",
        "read 'a[$(rm x)]' <<< 1",
        "printf -v 'a[$(rm x)]' x",
        "wait -n -p 'a[$(rm x)]'",
        "v='a[$(rm x)]'; echo $((v))",
        "v='$(rm x)'; echo \"${v@P}\"",
        "v='a[$(rm x)]'; echo ${!v}",
        "v='a[$(rm x)]'; echo ${w:v}",
        "echo ${a[v]}",
        "a[v]=1",
        "PATH=.",
        "PROMPT_COMMAND='rm x'",
        "GIT_PAGER='rm x' git log",
        "LD_PRELOAD=x ls",
        "npm_config_shell=x npm test",
        "git -c alias.z='!rm x' z",
        "git -calias.z='!rm x' z",
        "git --exec-path=. z",
        "git -C . bisect run rm x",
        "git rebase --exec 'rm x' HEAD",
        "git submodule foreach 'rm x'",
        "git $X",
        "uv run rm x",
        "npx rm",
        "npm exec rm",
        "poetry run rm",
        "tar cf a b --checkpoint=1 --checkpoint-action=exec='rm x'",
        "tar -I 'rm x' -cf a b",
        "rsync -e 'rm x' a b:",
        "sort --compress-program=rm x",
        "rg --pre rm x",
    ],
)
def test_nobody_is_sure_of_a_line_in_which_a_command_may_hide(line: str) -> None:
    assert not read_line(line).is_sure


@pytest.mark.parametrize(
    "line",
    [
        "for f in a; do rm $f; done",
        "if true; then rm x; fi",
        "echo $(rm x)",
        'echo "$(rm x)"',
        "cat <(rm x)",
        "a=$(rm x)",
        "f() { rm x; }",
        "cat <<EOF\n$(rm x)\nEOF",
        "rm x > f",
        "(rm x)",
        "rm x &",
        "! rm x",
    ],
)
def test_every_command_is_found_wherever_it_stands(line: str) -> None:
    shell = read_line(line)

    assert "rm" in [command[0].text for command in shell.commands]
    assert shell.is_sure


@pytest.mark.parametrize(
    "line",
    [
        "x=1; echo $x ${x} ${x:-y} ${x#y} ${x/a/b}",
        "[ -f x ] && a=1 ls",
        'test -n "$x"',
        "printf '%s' \"$x\"",
        "read -r x",
        "uv sync",
        "npm test",
        "tar czf a.tgz b",
        "git switch -c x",
        "git commit -c HEAD",
        "git --no-pager -C a log",
        "make",
        "rg --pretty x",
    ],
)
def test_of_what_hides_nothing_one_can_be_sure(line: str) -> None:
    assert read_line(line).is_sure


@pytest.mark.parametrize(
    "line", ["ls *", "ls ?x", "ls [a]x", "ls {-a,b}", "ls ~", "ls -*", "ls ''*"]
)
def test_a_pattern_may_become_an_option(line: str) -> None:
    word = read_line(line).commands[0][1]

    assert not word.is_fixed
    assert word.may_be_option


def test_a_pattern_that_begins_like_a_path_becomes_no_option() -> None:
    word = read_line("ls src/*.py").commands[0][1]

    assert not word.is_fixed
    assert not word.may_be_option


@pytest.mark.parametrize("line", ["ls '*'", 'ls "?"', "ls \\*", "ls '~'"])
def test_a_quoted_pattern_is_none(line: str) -> None:
    assert read_line(line).commands[0][1].is_fixed


def test_a_line_of_any_depth_is_read_or_refused() -> None:
    many = " && ".join(["ls"] * 1_500)

    assert read_line(many).is_plain
    assert not read_line("(" * 5_000 + "ls").is_plain
    assert read_line("ls " + "a" * 30_000) == NOTHING


_TOKENS = st.sampled_from(
    ["a", "b", "ab", "-x", "'a b'", '"a"', "''", "\\;", "\\ ", "a\\b", " ", " ", "  ", "\t", "\n", ";",
     "&&", "||", "|", "=", "#", "~", "!", "'", '"', "\\", "$", "`", "&", "<", ">", "(", ")", "{", "}",
     "*", "?", "[", "]", "a=b", "if", "then", "fi", "2", "-", "\u00e9", ",", "+", "@", "^", "+"]
)  # fmt: skip

_HEARD = """
exec 3>heard
PATH=/nowhere
command_not_found_handle() { printf '%s\\0' "$@" $'\\1' >&3; return ANSWER; }
"""


def _runs(line: str) -> set[tuple[str, ...]]:
    """What bash itself runs of a line, whatever the commands answer."""
    found: set[tuple[str, ...]] = set()
    for answer in ("0", "1"):
        with tempfile.TemporaryDirectory() as there:
            script = _HEARD.replace("ANSWER", answer) + line + "\n"
            subprocess.run(
                ["/bin/bash", "--norc", "-c", script],
                cwd=there,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=20,
                check=False,
            )
            with open(f"{there}/heard", "rb") as file:
                heard = file.read().decode()
        for call in heard.split("\1\0")[:-1]:
            found.add(tuple(call.split("\0")[:-1]))
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.lists(_TOKENS, min_size=1, max_size=9).map("".join))
@example("a 'a b'\nb||ab -x")
@example("a\\b a\\;b")
@example("a ''a b")
@example("a 2>/dev/null | b 2>&1")
def test_bash_runs_just_the_words_of_a_plain_line(line: str) -> None:
    shell = read_line(line)
    assume(shell.is_plain)
    # A file that is not there keeps a command from running, and `[` is one of bash's own.
    assume("<" not in line and "[" not in line)
    assume(all(word.is_fixed for command in shell.commands for word in command))
    assume(all(command[0].text and "/" not in command[0].text for command in shell.commands))

    assert _runs(line) == {tuple(word.text for word in command) for command in shell.commands}


@given(st.text(max_size=60))
def test_any_text_at_all_is_read_or_refused(line: str) -> None:
    shell = read_line(line)

    assert not (shell.is_plain and not shell.is_sure)
    assert all(isinstance(word, Word) for command in shell.commands for word in command)
