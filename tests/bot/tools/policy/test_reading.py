"""Commands that are known to read only, and those that only look so."""

import pytest

from bot.tools.policy.reading import reads_only
from bot.tools.policy.shell import read_line

READS = """
ls -la
ls *.py
cat a b
head -5 a
tail -n 3 a
wc -l a
grep -rn --include=*.py x .
rg -n pattern src
rg --pretty x
find . -name '*.py' -type f -mtime -7
find src -maxdepth 2 -size +10k -print0
find . \\( -name a -o -name b \\) -prune
git status
git status --short --branch
git log --oneline -5
git log -n 3 --stat -- src
git -C checkouts/app --no-pager log --since=yesterday
git diff --cached --stat
git diff HEAD~1 -- a.py
git show HEAD:a.py
git branch -a
git remote -v
git rev-parse --short HEAD
git ls-files
git blame -L 1,5 a.py
git grep -n x
git stash list
git config --get user.name
git --version
sort -u a
sort -k2,2n a
uniq -c
uniq -c a
uniq -c -
uniq -- -a
date
date +%F
date -u -d yesterday +%F
printf '%s\\n' a
test -f a
command -v git
tree -L 2
file a
jq .a x.json
cd src
pwd
echo a
diff -u a b
"""

WRITES = """
rm a
touch a
mv a b
cp a b
tee a
dd of=a
ln -s a b
mkdir a
chmod +x a
install a b
truncate -s 0 a
find . -delete
find . -fprint a
find . -fprintf a x
find . -fls a
find . -fprint0 a
find *
find . -name a -exec rm b
find [a]
find {-delete,.}
git log --output=x
git log --outp=x
git diff --output x
git diff --ext-diff
git log --textconv
git log *
git -c core.pager=x log
git -c alias.x=!rm x
git --exec-path=x log
git --git-dir=x log
git -p log
git push
git pull
git fetch
git commit -m x
git checkout x
git clean -fd
git branch x
git branch -D x
git branch -m a b
git tag x
git tag -d x
git remote add a b
git remote show a
git stash
git stash pop
git reflog expire
git config user.name x
git config --global --add a b
git grep -O x
git grep --open-files-in-pager=sh x
git cat-file --textconv x
git cat-file --filters x
git lg
git
git worktree add a
git submodule foreach rm
sort -o a b
sort -uo a b
sort --output=a b
sort --outp=a b
sort --compress-program=x a
sort *
uniq a b
uniq -c a b
uniq - a
uniq - -- -a
uniq -- a -b
tree -o a
tree -R -L 1 -H .
cat < /dev/tcp/192.0.2.1/80
cat </dev/udp/192.0.2.1/53
rg --pre x y
rg --pre=x y
rg --hostname-bin x y
rg -z x
rg * x
file -C -m a
file --compile
date -s x
date --set=x
date --se=x
date 01010101 02020202 03030303
printf -v PATH x
test -v 'a[$(x)]'
test -R a
command ls
command
./ls
/tmp/ls
LS
pip install x
make
curl x
xxd a b
vi a
less a
unknown
"""


def lines(text: str) -> list[str]:
    return [line.replace("\\\\", "\\") for line in text.strip().splitlines()]


@pytest.mark.parametrize("line", lines(READS))
def test_what_only_reads_is_known(line: str) -> None:
    shell = read_line(line)

    assert shell.is_plain
    assert reads_only(shell.commands[0])


@pytest.mark.parametrize("line", lines(WRITES))
def test_what_may_write_or_run_something_is_not(line: str) -> None:
    shell = read_line(line)

    assert not (shell.is_plain and all(map(reads_only, shell.commands)))


def test_no_command_at_all_is_known() -> None:
    assert not reads_only(())
