"""HTTP clients: httpx (and httpx2), httpcore, requests, urllib, urllib3, aiohttp, websockets."""

from __future__ import annotations

from failsoft.classify.rules.answers import answered
from failsoft.classify.rules.phrases import certificate
from failsoft.classify.rules.row import Context, row
from failsoft.classify.text import text_of
from failsoft.classify.verdict import Verdict
from failsoft.core.kinds import Effect, ErrorKind

__all__ = ["ROWS"]

K, NONE, POSSIBLE = ErrorKind, Effect.NONE, Effect.POSSIBLE

_REFUSED = r"connection refused|\[Errno 111\]|\[WinError 10061\]|connect call failed"
_DNS = r"name or service not known|name resolution|getaddrinfo failed|failed to resolve|nodename nor servname|NameResolutionError|no address associated"
_UNSENT = r"NewConnectionError|failed to establish a new connection"
_CONNECT_TIMEOUT = r"ConnectTimeoutError|connect timeout|timed out during opening handshake"
_READ_TIMEOUT = r"read timed out|read timeout"


def _certificate(exc: BaseException, context: Context) -> Verdict | None:
    del context
    return certificate(text_of(exc))


_HTTPX = (
    row("httpx.HTTPStatusError", read=answered),
    row("httpx.ConnectTimeout httpcore.ConnectTimeout", K.TIMEOUT, "connect_timeout", NONE),
    row("httpx.PoolTimeout httpcore.PoolTimeout", K.TIMEOUT, "pool_timeout", NONE),
    row("httpx.ReadTimeout httpcore.ReadTimeout", K.TIMEOUT, "read_timeout"),
    row("httpx.WriteTimeout httpcore.WriteTimeout", K.TIMEOUT, "write_timeout"),
    row("httpx.TimeoutException httpcore.TimeoutException", K.TIMEOUT, "request_timeout"),
    row("httpx.ConnectError httpcore.ConnectError", read=_certificate),
    row("httpx.ConnectError httpcore.ConnectError", K.NETWORK, "connect_refused", NONE, text=_REFUSED),
    row("httpx.ConnectError httpcore.ConnectError", K.NETWORK, "dns_failed", NONE, text=_DNS),
    row("httpx.ConnectError httpcore.ConnectError", K.NETWORK, "tls_failed", NONE, text=r"\bssl\b|\btls\b|EOF occurred", inner=True),
    row("httpx.ConnectError httpcore.ConnectError", K.NETWORK, "connect_failed", NONE, inner=True),
    row("httpx.ProxyError httpcore.ProxyError", K.PERMISSION_DENIED, "proxy_auth", NONE, text=r"\b407\b"),
    row("httpx.ProxyError httpcore.ProxyError", K.NETWORK, "proxy_failed", NONE),
    row("httpx.UnsupportedProtocol httpcore.UnsupportedProtocol httpx.InvalidURL", K.INVALID_ARGUMENT, "bad_url", NONE, say=True),
    row("httpx.LocalProtocolError httpcore.LocalProtocolError", K.INTERNAL, "bad_request_made", say=True),
    row("httpx.RemoteProtocolError httpcore.RemoteProtocolError", K.NETWORK, "connection_lost", text=r"disconnected|closed|without"),
    row("httpx.ProtocolError httpcore.ProtocolError", K.NETWORK, "bad_protocol"),
    row("httpx.ReadError httpx.WriteError httpx.CloseError httpx.NetworkError", K.NETWORK, "connection_lost"),
    row("httpcore.ReadError httpcore.WriteError httpcore.NetworkError", K.NETWORK, "connection_lost"),
    row("httpcore.ConnectionNotAvailable", K.NETWORK, "connect_failed", NONE),
    row("httpx.TooManyRedirects", K.UNAVAILABLE, "too_many_redirects", POSSIBLE, False),
    row("httpx.DecodingError", K.INVALID_OUTPUT, "unreadable_answer", POSSIBLE),
    row("httpx.StreamError", K.INTERNAL, "bug", say=True),
    row("httpx.TransportError httpx.RequestError", K.NETWORK, "connection_lost", inner=True),
)  # fmt: skip

_REQUESTS = (
    row("requests.HTTPError", read=answered),
    row("requests.SSLError requests.ConnectionError urllib3.SSLError urllib3.MaxRetryError urllib3.ProxyError", read=_certificate),
    row("requests.ConnectTimeout urllib3.ConnectTimeoutError", K.TIMEOUT, "connect_timeout", NONE),
    row("requests.ReadTimeout urllib3.ReadTimeoutError", K.TIMEOUT, "read_timeout"),
    row("requests.Timeout urllib3.TimeoutError", K.TIMEOUT, "request_timeout"),
    row("requests.ProxyError urllib3.ProxyError", K.PERMISSION_DENIED, "proxy_auth", NONE, text=r"\b407\b"),
    row("requests.ProxyError urllib3.ProxyError", K.NETWORK, "proxy_failed", NONE),
    row("requests.SSLError urllib3.SSLError", K.NETWORK, "tls_hiccup", inner=True),
    row("urllib3.NameResolutionError", K.NETWORK, "dns_failed", NONE),
    row("urllib3.NewConnectionError", K.NETWORK, "connect_refused", NONE, text=_REFUSED),
    row("urllib3.NewConnectionError", K.NETWORK, "dns_failed", NONE, text=_DNS),
    row("urllib3.NewConnectionError", K.NETWORK, "connect_failed", NONE, inner=True),
    row("urllib3.EmptyPoolError urllib3.FullPoolError", K.TIMEOUT, "pool_timeout", NONE),
    row("requests.RetryError", K.RATE_LIMITED, "", POSSIBLE, text=r"too many 429"),
    row("requests.RetryError urllib3.MaxRetryError", K.UNAVAILABLE, "retries_exhausted", text=r"too many \d{3} error"),
    row("requests.ConnectionError urllib3.MaxRetryError urllib3.ResponseError", K.UNAVAILABLE, "too_many_redirects", POSSIBLE, False, text=r"too many redirects"),
    row("urllib3.ResponseError", K.UNAVAILABLE, "retries_exhausted", text=r"too many \d{3} error"),
    row("requests.ConnectionError urllib3.MaxRetryError", K.TIMEOUT, "connect_timeout", NONE, text=_CONNECT_TIMEOUT),
    row("requests.ConnectionError urllib3.MaxRetryError", K.NETWORK, "dns_failed", NONE, text=_DNS),
    row("requests.ConnectionError urllib3.MaxRetryError", K.NETWORK, "connect_refused", NONE, text=rf"(?:{_UNSENT}).*(?:{_REFUSED})"),
    row("requests.ConnectionError urllib3.MaxRetryError", K.NETWORK, "connect_failed", NONE, text=_UNSENT),
    row("requests.ConnectionError urllib3.MaxRetryError", K.TIMEOUT, "read_timeout", text=_READ_TIMEOUT),
    row("requests.ConnectionError urllib3.MaxRetryError", K.NETWORK, "connection_lost", inner=True),
    row("requests.ChunkedEncodingError urllib3.ProtocolError urllib3.IncompleteRead", K.NETWORK, "connection_lost", inner=True),
    row("requests.ContentDecodingError requests.JSONDecodeError urllib3.DecodeError", K.INVALID_OUTPUT, "unreadable_answer", POSSIBLE),
    row("requests.TooManyRedirects", K.UNAVAILABLE, "too_many_redirects", POSSIBLE, False),
    row("requests.MissingSchema requests.InvalidSchema requests.InvalidURL requests.InvalidHeader", K.INVALID_ARGUMENT, "bad_url", NONE, say=True),
    row("urllib3.LocationValueError urllib3.URLSchemeUnknown", K.INVALID_ARGUMENT, "bad_url", NONE, say=True),
    row("requests.RequestException urllib3.HTTPError", K.NETWORK, "connection_lost", inner=True),
    row("urllib.error.HTTPError", read=answered),
    row("urllib.error.ContentTooShortError", K.NETWORK, "connection_lost"),
    row("urllib.error.URLError", read=_certificate),
    row("urllib.error.URLError", K.NETWORK, "connect_failed", POSSIBLE, inner=True),
)  # fmt: skip

_AIOHTTP = (
    row("aiohttp.ClientConnectorCertificateError", K.UNAVAILABLE, "certificate_invalid", NONE, False, owner="human", inner=True),
    row("aiohttp.ClientConnectorSSLError", K.NETWORK, "tls_failed", NONE, inner=True),
    row("aiohttp.ClientConnectorDNSError", K.NETWORK, "dns_failed", NONE),
    row("aiohttp.ConnectionTimeoutError", K.TIMEOUT, "connect_timeout", NONE),
    row("aiohttp.SocketTimeoutError aiohttp.ServerTimeoutError", K.TIMEOUT, "read_timeout"),
    row("aiohttp.ClientProxyConnectionError", K.NETWORK, "proxy_failed", NONE),
    row("aiohttp.ClientHttpProxyError", K.PERMISSION_DENIED, "proxy_auth", NONE, text=r"\b407\b"),
    row("aiohttp.ClientHttpProxyError", K.NETWORK, "proxy_failed", NONE),
    row("aiohttp.ClientConnectorError", K.NETWORK, "connect_failed", NONE, inner=True),
    row("aiohttp.ServerFingerprintMismatch", K.UNAVAILABLE, "certificate_invalid", NONE, False, owner="human"),
    row("aiohttp.ServerDisconnectedError aiohttp.ClientOSError", K.NETWORK, "connection_lost"),
    row("aiohttp.ClientPayloadError", K.NETWORK, "connection_lost"),
    row("aiohttp.InvalidURL aiohttp.NonHttpUrlClientError", K.INVALID_ARGUMENT, "bad_url", NONE, say=True),
    row("aiohttp.TooManyRedirects", K.UNAVAILABLE, "too_many_redirects", POSSIBLE, False),
    row("aiohttp.ContentTypeError", K.INVALID_OUTPUT, "unreadable_answer", POSSIBLE),
    row("aiohttp.ClientResponseError", K.NETWORK, "bad_protocol", text=r"bad status line|expected HTTP/|invalid (?:header|http version|character)|data after .connection: close"),
    row("aiohttp.ClientResponseError", read=answered),
    row("aiohttp.ClientConnectionError", K.NETWORK, "connection_lost", inner=True),
    row("aiohttp.ClientError", K.NETWORK, "connection_lost", inner=True),
)  # fmt: skip

_WEBSOCKETS = (
    row("websockets.InvalidStatus websockets.InvalidStatusCode", read=answered),
    row("websockets.InvalidURI", K.INVALID_ARGUMENT, "bad_url", NONE, say=True),
    row("websockets.ConnectionClosedOK", K.NETWORK, "connection_closed", context={"needs_reconnect": True}),
    row("websockets.ConnectionClosed", K.NETWORK, "connection_lost", context={"needs_reconnect": True}),
    row("websockets.ProxyError websockets.InvalidProxyStatus", K.NETWORK, "proxy_failed", NONE),
    row("websockets.InvalidHandshake websockets.NegotiationError", K.NETWORK, "connect_failed", NONE, inner=True),
    row("websockets.PayloadTooBig", K.INVALID_OUTPUT, "too_large", POSSIBLE),
    row("websockets.ProtocolError", K.NETWORK, "bad_protocol"),
    row("websockets.WebSocketException", K.NETWORK, "connection_lost", inner=True),
)  # fmt: skip

ROWS = _HTTPX + _REQUESTS + _AIOHTTP + _WEBSOCKETS
