"""
An authority of our own, whose certificates the sandbox trusts: for hosts that secrets are bound to.

Rule 1: its key is made at the start and lives in memory alone; the sandbox gets its certificate.
Rule 2: a certificate is made for one host when it is first needed, and for no host without a secret.
"""

import ipaddress
import os
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LASTS: Final = timedelta(days=3650)
"""Of the authority, which ends with the process."""
_LEAF_LASTS: Final = timedelta(days=30)
_RENEWED: Final = timedelta(days=7)
_EARLY: Final = timedelta(days=1)
"""So far a clock inside may be behind."""
_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class _Made:
    context: ssl.SSLContext
    at: datetime


class Authority:
    """Signs for hosts. `folder` is ours alone: a host's key lies in it for a moment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, "Headway: secrets of a goal")]
        )
        self._certificate = self._own()
        self._made: dict[str, _Made] = {}

    @property
    def pem(self) -> bytes:
        """The authority's certificate."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def context(self, host: str) -> ssl.SSLContext:
        """For a connection of a client that means this host and no other."""
        now, made = datetime.now(UTC), self._made.get(host)
        if made is None or now - made.at > _RENEWED:
            while len(self._made) >= _KEPT:
                del self._made[next(iter(self._made))]
            made = self._made[host] = _Made(self._context(host), now)
        return made.context

    def _context(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.sni_callback = _only(host)
        leaf = self._leaf(host).public_bytes(serialization.Encoding.PEM)
        key = self._leaf_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        fd, path = tempfile.mkstemp(dir=self._folder, suffix=".pem")
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(leaf + key)
            context.load_cert_chain(path)
        finally:
            os.unlink(path)
        return context

    def _own(self) -> x509.Certificate:
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        return (
            self._builder(self._name, self._key, _LASTS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _leaf(self, host: str) -> x509.Certificate:
        # A common name has at most 64 characters; clients look at the alternative name alone.
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
        return (
            self._builder(name, self._leaf_key, _LEAF_LASTS)
            .add_extension(x509.SubjectAlternativeName([_general(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, lasts: timedelta
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _EARLY)
            .not_valid_after(now + lasts)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _only(host: str) -> Any:
    """Who greets another host than it asked for has no connection."""

    def named(_: Any, name: str | None, __: ssl.SSLContext) -> int | None:
        if name is None or name.lower().removesuffix(".") == host:
            return None
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    return named
