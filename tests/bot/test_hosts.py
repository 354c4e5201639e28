"""Names of hosts, as people write them and as tricks do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.bundles import BUNDLES
from bot.hosts import expanded, host_name, is_covered, read_rule, read_vouched, read_words


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("API.Example.ORG", "api.example.org"),
        ("api.example.org.", "api.example.org"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("ｐｙｐｉ．ｏｒｇ", "pypi.org"),
        ("my_bucket.example.org", "my_bucket.example.org"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2606:4700:0::1111]", "2606:4700::1111"),
        ("[::FFFF:127.0.0.1]", "::ffff:7f00:1"),
    ],
)
def test_a_host_has_one_name(said: str, meant: str) -> None:
    assert host_name(said) == meant


@pytest.mark.parametrize(
    "said",
    [
        "", ".", "..", "a..b", ".example.org", "example.org..", "-a.example", "a-.example", "a b",
        "a/b", "a\\b", "a@b", "user:pw@b", "a#b", "a?b", "a%2eb", "a\0b", "a\nb", "a:80", "::1",
        "[::1", "[fe80::1%25eth0]", "[fe80::1%eth0]", "127.1", "0x7f.1", "0x7f000001", "2130706433",
        "017700000001", "1.2.3.4.5", "1.2.3.256", "example.0x0", "exa\u200bmple..org", "x" * 64 + ".org",
        ".".join(["abcdefgh"] * 30),
    ],
)  # fmt: skip
def test_what_is_no_name_is_none(said: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - several kinds of it
        host_name(said)


@pytest.mark.parametrize(
    ("rule", "name", "port", "covers"),
    [
        ("pypi.org", "pypi.org", 443, True),
        ("pypi.org", "pypi.org", 80, True),
        ("pypi.org", "pypi.org", 8443, False),
        ("pypi.org", "files.pypi.org", 443, False),
        ("pypi.org", "evilpypi.org", 443, False),
        ("pypi.org", "pypi.org.evil.example", 443, False),
        ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("git.example.org:8443", "git.example.org", 8443, True),
        ("git.example.org:8443", "git.example.org", 443, False),
        ("[2606:4700::1111]:8443", "2606:4700::1111", 8443, True),
    ],
)
def test_an_entry_covers_what_it_says(rule: str, name: str, port: int, covers: bool) -> None:
    assert is_covered([rule], name, port) is covers


@pytest.mark.parametrize(
    "said", ["*", "*.", "*.com", "*.1.2.3.4", "a.*.org", "**.a.org", "a:0", "a:70000", "a:x"]
)
def test_an_entry_that_says_too_much_or_nothing_is_none(said: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_rule(said)


def test_bundles_and_hosts_are_read_in_one_form() -> None:
    assert read_words([" PyPI ", "API.example.org", "pypi"]) == ("pypi", "api.example.org")


def test_a_bundle_stands_for_its_hosts() -> None:
    assert expanded(["pypi", "a.example"]) == {*BUNDLES["pypi"], "a.example"}


@pytest.mark.parametrize("name", BUNDLES)
def test_every_host_of_a_bundle_is_one(name: str) -> None:
    assert len(expanded([name])) == len(BUNDLES[name])


def test_a_private_host_has_an_address() -> None:
    rule, address = read_vouched("git.corp.example=10.0.0.5:8443")

    assert (rule.name, rule.port, address) == ("git.corp.example", None, ("10.0.0.5", 8443))


@pytest.mark.parametrize(
    "said", ["a.example", "a.example=", "a.example=b.example", "*.a.example=10.0.0.1", "=1.2.3.4"]
)
def test_a_private_host_without_one_is_none(said: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_vouched(said)


@given(st.text(max_size=60))
def test_a_name_that_is_read_is_read_again_as_the_same(said: str) -> None:
    try:
        name = host_name(said)
    except (ValueError, UnicodeError):
        return
    if ":" not in name:
        assert host_name(name) == name
