"""
Named sets of hosts, so that a room says `pypi` and not where an index and its files are.

Each holds what the tools of its name fetch from, and nothing that they only link to. Sources, read in
2026: the settings or the documentation on networks of the tools themselves:

- pypi: "Integrating with PyPI" (docs.pypi.org/api): the index, and the host of its files
- npm, yarn: `npm config get registry`, `yarn config get registry`; nodejs.org has node's own headers
- debian, ubuntu: `/etc/apt/sources.list.d` of their images; alpine: `/etc/apk/repositories`
- github: `GET /meta` of api.github.com (`domains`), "About firewalls" of docs.github.com; gitlab likewise
- crates: "Registry index" and "Registry web API" of doc.rust-lang.org/cargo; rustup's own channel
- golang: `go help goproxy`, `go env GOSUMDB`, "Download" of go.dev
- rubygems: `gem sources`; maven: "Central" of maven.apache.org, `gradle wrapper`
- dockerhub: "Allowlist" of docs.docker.com/desktop
- conda: "Firewalls" of docs.anaconda.com; huggingface: `HF_ENDPOINT` of its hub's documentation
"""

from collections.abc import Mapping
from typing import Final

BUNDLES: Final[Mapping[str, tuple[str, ...]]] = {
    "pypi": ("pypi.org", "files.pythonhosted.org"),
    "npm": ("registry.npmjs.org", "registry.yarnpkg.com", "nodejs.org"),
    "debian": ("deb.debian.org", "security.debian.org"),
    "ubuntu": ("archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"),
    "alpine": ("dl-cdn.alpinelinux.org",),
    "github": (
        "github.com",
        "api.github.com",
        "codeload.github.com",
        "raw.githubusercontent.com",
        "objects.githubusercontent.com",
        "release-assets.githubusercontent.com",
        "github-cloud.githubusercontent.com",
        "media.githubusercontent.com",
    ),
    "gitlab": ("gitlab.com", "registry.gitlab.com"),
    "crates": (
        "crates.io",
        "index.crates.io",
        "static.crates.io",
        "static.rust-lang.org",
    ),
    "golang": ("proxy.golang.org", "sum.golang.org", "go.dev", "dl.google.com"),
    "rubygems": ("rubygems.org", "index.rubygems.org"),
    "maven": (
        "repo.maven.apache.org",
        "repo1.maven.org",
        "plugins.gradle.org",
        "services.gradle.org",
    ),
    "dockerhub": (
        "registry-1.docker.io",
        "auth.docker.io",
        "index.docker.io",
        "production.cloudflare.docker.com",
    ),
    "conda": ("conda.anaconda.org", "repo.anaconda.com"),
    "huggingface": ("huggingface.co", "*.huggingface.co", "*.hf.co"),
}
"""The hosts of each, as `bot.hosts` reads them."""
