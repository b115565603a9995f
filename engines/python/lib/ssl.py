"""A stand-in for ssl: packages import and name it, but nothing here encrypts.

The host makes the requests, with TLS where a socket was wrapped. It verifies certificates by
its own certificate authorities, whatever a context says.
"""

import enum


class SSLError(OSError):
    """The only error of this module."""


class CertificateError(SSLError, ValueError):
    """A certificate is refused: never raised here."""


SSLCertVerificationError = CertificateError
SSLZeroReturnError = SSLWantReadError = SSLWantWriteError = SSLSyscallError = SSLEOFError = SSLError


class VerifyMode(enum.IntEnum):
    """Whether certificates are verified."""

    CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED = range(3)


class TLSVersion(enum.IntEnum):
    """Versions of TLS."""

    MINIMUM_SUPPORTED, MAXIMUM_SUPPORTED, SSLv3, TLSv1, TLSv1_1, TLSv1_2, TLSv1_3 = -2, -1, 768, 769, 770, 771, 772


class Purpose(enum.Enum):
    """What a context is for."""

    SERVER_AUTH, CLIENT_AUTH = "1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"


CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED = VerifyMode
PROTOCOL_TLS = PROTOCOL_SSLv23 = 2
PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER = 16, 17
OP_ALL = OP_NO_SSLv2 = OP_NO_SSLv3 = OP_NO_COMPRESSION = OP_NO_TICKET = OP_NO_TLSv1 = OP_NO_TLSv1_1 = OP_NO_RENEGOTIATION = 0
VERIFY_X509_STRICT = VERIFY_X509_PARTIAL_CHAIN = VERIFY_X509_TRUSTED_FIRST = 0
HAS_SNI = HAS_NEVER_CHECK_COMMON_NAME = HAS_ALPN = HAS_TLSv1_3 = True
OPENSSL_VERSION, OPENSSL_VERSION_NUMBER, OPENSSL_VERSION_INFO = "OpenSSL 3.0.0, none in the sandbox", 0x30000000, (3, 0, 0, 0, 0)


class SSLContext:
    """Settings of connections, which are kept and have no effect."""

    def __init__(self, protocol=PROTOCOL_TLS):
        self.protocol, self.verify_mode, self.check_hostname, self.options, self.verify_flags = protocol, CERT_REQUIRED, True, 0, 0
        self.minimum_version, self.maximum_version = TLSVersion.MINIMUM_SUPPORTED, TLSVersion.MAXIMUM_SUPPORTED
        self.post_handshake_auth, self.keylog_filename, self.hostname_checks_common_name = False, None, False

    def _kept(self, *args, **kwargs):
        """Accept a setting: the host has its own."""

    load_default_certs = load_verify_locations = set_ciphers = set_alpn_protocols = set_default_verify_paths = _kept

    def load_cert_chain(self, *args, **kwargs):
        raise SSLError("a client's certificate cannot leave the sandbox: the host makes the requests")

    def wrap_socket(self, sock, *args, **kwargs):
        """Return the socket, whose requests the host makes with TLS."""
        sock.encrypt()
        return sock

    def wrap_bio(self, *args, **kwargs):
        raise SSLError("there is no TLS in the sandbox: the host makes requests, by kopf.fetch, urllib, requests, httpx or aiohttp")


class SSLSocket:
    """The type of encrypted sockets: there are none."""


class SSLObject:
    """The type of encrypted streams: there are none."""


class MemoryBIO:
    """The type of buffers of encrypted streams: there are none."""


def create_default_context(*args, **kwargs):
    """Return a context."""
    return SSLContext()


_create_unverified_context = _create_default_https_context = create_default_context
