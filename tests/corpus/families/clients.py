"""HTTP clients against a server of this process that misbehaves on purpose, and by construction where that is shorter."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
from functools import cache
from typing import Any

from tests.corpus.case import case, caught, http_response, table

_BODY = b'{"message": "as asked"}'


def _serve(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with contextlib.suppress(OSError), connection:
        line = connection.recv(65536).decode("latin-1").split(" ")
        path = line[1] if len(line) > 1 else ""
        if path.startswith("/status/"):
            status = path.rsplit("/", 1)[1]
            connection.sendall(
                f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(_BODY)}\r\n"
                "Connection: close\r\n\r\n".encode()
                + _BODY
            )
        elif path == "/hang":
            threading.Event().wait(3)
        elif path == "/reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif path == "/garbage":
            connection.sendall(b"\x00\x01\x02 not http\r\n\r\n")
        elif path == "/cut":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        elif path == "/loop":
            connection.sendall(
                b"HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        elif path == "/html":
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\nConnection: close\r\n\r\n<p>x"
            )


@cache
def _port() -> int:
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_serve, args=(listener,), daemon=True).start()
    return int(listener.getsockname()[1])


@cache
def _tls_port() -> int:
    import datetime
    import tempfile

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    with tempfile.NamedTemporaryFile(suffix=".pem", delete=False) as pem:
        pem.write(signed.public_bytes(serialization.Encoding.PEM))
        pem.write(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem.name)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            raw, _ = listener.accept()
            with contextlib.suppress(OSError), raw:
                context.wrap_socket(raw, server_side=True).close()

    threading.Thread(target=serve, daemon=True).start()
    return int(listener.getsockname()[1])


@cache
def _closed() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _url(path: str) -> str:
    return f"http://127.0.0.1:{_port()}{path}"


_URLS = {
    "refused": lambda: f"http://127.0.0.1:{_closed()}/",
    "name": lambda: "http://no-such-host.invalid/",
    "hang": lambda: _url("/hang"),
    "reset": lambda: _url("/reset"),
    "close": lambda: _url("/close"),
    "garbage": lambda: _url("/garbage"),
    "cut": lambda: _url("/cut"),
    "loop": lambda: _url("/loop"),
    "certificate": lambda: f"https://localhost:{_tls_port()}/",
    "plain port as TLS": lambda: f"https://127.0.0.1:{_port()}/",
    "no scheme": lambda: "api.example.test/x",
    "wrong scheme": lambda: "gopher://api.example.test/x",
}

_EXPECTED = {
    "refused": "network retry none",
    "name": "network retry none",
    "hang": "timeout retry maybe",
    "reset": "network retry maybe",
    "close": "network retry maybe",
    "garbage": "network retry maybe",
    "cut": "network retry maybe",
    "loop": "unavailable no maybe",
    "certificate": "unavailable no none",
    "plain port as TLS": "network retry none",
    "no scheme": "invalid_argument no none",
    "wrong scheme": "invalid_argument no none",
}

_STATUSES = {
    400: "invalid_argument no none",
    401: "permission_denied no none",
    403: "permission_denied no none",
    404: "not_found no none",
    408: "timeout retry none",
    409: "conflict no none",
    422: "invalid_argument no none",
    429: "rate_limited retry none",
    500: "unavailable retry none",
    502: "unavailable retry none",
    503: "unavailable retry none",
    504: "timeout retry none",
}


def _httpx(url: str, method: str = "GET", name: str = "httpx") -> BaseException:
    lib: Any = __import__(name)
    with lib.Client(timeout=0.3, follow_redirects=True, trust_env=False) as client:
        return caught(lambda: client.request(method, url).raise_for_status())


def _requests(url: str, method: str = "GET") -> BaseException:
    import requests

    with requests.Session() as session:
        session.trust_env = False
        return caught(lambda: session.request(method, url, timeout=0.3).raise_for_status())


def _urllib3(url: str, method: str = "GET") -> BaseException:
    import urllib3

    pool = urllib3.PoolManager(retries=urllib3.Retry(total=0, redirect=2), timeout=0.3)
    return caught(lambda: pool.request(method, url))


def _aiohttp(url: str, method: str = "GET") -> BaseException:
    import aiohttp

    async def go() -> None:
        timeout = aiohttp.ClientTimeout(total=5, sock_read=0.3)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.request(method, url) as answer:
            answer.raise_for_status()
            await answer.read()

    return caught(lambda: asyncio.run(go()))


_CLIENTS = {
    "httpx": _httpx,
    "httpx2": lambda u, m="GET": _httpx(u, m, "httpx2"),
    "requests": _requests,
    "aiohttp": _aiohttp,
}
# urllib3 takes the first part of an address without a scheme for the host.
_NOT_RAISED = {("urllib3", "no scheme")}

# requests and urllib3 raise the same SSLError for an end of file before and after the request was sent.
_EXCEPT = {
    ("requests", "plain port as TLS"): "network retry maybe",
    ("urllib3", "plain port as TLS"): "network retry maybe",
}

CASES = [
    case(f"{client}: {what}", _EXCEPT.get((client, what), _EXPECTED[what]), lambda get=get, what=what: get(_URLS[what]()))
    for client, get in {**_CLIENTS, "urllib3": _urllib3}.items()
    for what in _EXPECTED
    if (client, what) not in _NOT_RAISED
] + [
    case(f"{client}: GET {status}", label, lambda get=get, status=status: get(_url(f"/status/{status}")))
    for client, get in _CLIENTS.items()
    for status, label in _STATUSES.items()
] + [
    case(f"{client}: POST {status}", label.replace("retry none", "retry maybe") if status != 429 else label,
         lambda get=get, status=status: get(_url(f"/status/{status}"), "POST"))
    for client, get in _CLIENTS.items()
    for status, label in {429: _STATUSES[429], 503: _STATUSES[503], 504: _STATUSES[504]}.items()
]  # fmt: skip


def _x(name: str, *args: Any, **more: Any) -> Any:
    import httpx

    return getattr(httpx, name)(*args, **more)


def _r(name: str, *args: Any) -> Any:
    import requests

    return getattr(requests.exceptions, name)(*args)


def _ws(name: str, *args: Any) -> Any:
    import websockets.exceptions as errors

    return getattr(errors, name)(*args)


def _closed_by(code: int) -> Any:
    from websockets.frames import Close

    return _ws("ConnectionClosedOK" if code == 1000 else "ConnectionClosedError", Close(code, ""), None)


def _ws_status(status: int) -> Any:
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    return _ws("InvalidStatus", Response(status, "said", Headers(), b""))


def _api_body(status: int, body: Any, headers: Any = None, method: str = "POST") -> BaseException:
    return caught(lambda: http_response(status, body, headers, method=method).raise_for_status())


CASES += [
    *table("httpx", [
        ("connect timeout", "timeout retry none", lambda: _x("ConnectTimeout", "")),
        ("pool timeout", "timeout retry none", lambda: _x("PoolTimeout", "")),
        ("write timeout", "timeout retry maybe", lambda: _x("WriteTimeout", "")),
        ("read error", "network retry maybe", lambda: _x("ReadError", "")),
        ("write error", "network retry maybe", lambda: _x("WriteError", "")),
        ("server disconnected", "network retry maybe", lambda: _x("RemoteProtocolError", "Server disconnected without sending a response.")),
        ("local protocol", "internal no maybe", lambda: _x("LocalProtocolError", "Illegal header value")),
        ("proxy", "network retry none", lambda: _x("ProxyError", "502 Bad Gateway")),
        ("proxy login", "permission_denied no none", lambda: _x("ProxyError", "407 Proxy Authentication Required")),
        ("decoding", "invalid_output no maybe", lambda: _x("DecodingError", "incorrect header check")),
        ("stream read twice", "internal no maybe", lambda: _x("StreamConsumed")),
    ]),
    *table("requests", [
        ("connect timeout", "timeout retry none", lambda: _r("ConnectTimeout", "x")),
        ("read timeout", "timeout retry maybe", lambda: _r("ReadTimeout", "x")),
        ("proxy", "network retry none", lambda: _r("ProxyError", "Cannot connect to proxy.")),
        ("chunked", "network retry maybe", lambda: _r("ChunkedEncodingError", "Connection broken: IncompleteRead")),
        ("bad JSON", "invalid_output no maybe", lambda: _r("JSONDecodeError", "Expecting value", "<p>", 0)),
        ("remote disconnected as text", "network retry maybe", lambda: _r("ConnectionError", "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))")),
        ("certificate as text", "unavailable no none", lambda: _r("SSLError", "HTTPSConnectionPool(host='a.example.test', port=443): Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1006)')))")),
        ("name as text", "network retry none", lambda: _r("ConnectionError", "HTTPSConnectionPool(host='a.example.test', port=443): Max retries exceeded with url: / (Caused by NameResolutionError(\"Failed to resolve 'a.example.test'\"))")),
        ("refused as text", "network retry none", lambda: _r("ConnectionError", "HTTPConnectionPool(host='a.example.test', port=80): Max retries exceeded with url: / (Caused by NewConnectionError('<x>: Failed to establish a new connection: [Errno 111] Connection refused'))")),
        ("read timeout as text", "timeout retry maybe", lambda: _r("ConnectionError", "HTTPConnectionPool(host='a.example.test', port=80): Read timed out.")),
    ]),
    *table("websockets", [
        ("closed normally", "network retry maybe", lambda: _closed_by(1000)),
        ("closed by an error", "network retry maybe", lambda: _closed_by(1011)),
        ("refused with 401", "permission_denied no none", lambda: _ws_status(401)),
        ("refused with 429", "rate_limited retry none", lambda: _ws_status(429)),
        ("refused with 503", "unavailable retry maybe", lambda: _ws_status(503)),
        ("bad address", "invalid_argument no none", lambda: _ws("InvalidURI", "x", "not a websocket")),
        ("bad handshake", "network retry none", lambda: _ws("InvalidMessage", "did not receive a valid HTTP response")),
        ("too big", "invalid_output no maybe", lambda: _ws("PayloadTooBig", 10, 5)),
    ]),
    *table("bodies", [
        ("GitHub secondary limit", "rate_limited retry none", lambda: _api_body(403, {"message": "You have exceeded a secondary rate limit."})),
        ("GitHub no access", "permission_denied no none", lambda: _api_body(403, {"message": "Resource not accessible by integration"})),
        ("GitHub validation", "invalid_argument no none", lambda: _api_body(422, {"message": "Validation Failed", "errors": [{"resource": "Issue", "code": "missing_field", "field": "title"}]})),
        ("problem details", "invalid_argument no none", lambda: _api_body(400, {"type": "https://example.test/probs/x", "title": "Bad", "detail": "quantity must be positive"})),
        ("FastAPI", "invalid_argument no none", lambda: _api_body(422, {"detail": [{"loc": ["body", "n"], "msg": "field required", "type": "missing"}]})),
        ("spending cap", "quota_exhausted no none", lambda: _api_body(402, {"error": {"message": "Insufficient credits", "code": 402}})),
        ("daily limit", "quota_exhausted no none", lambda: _api_body(429, {"error": "daily limit reached"})),
        ("AWS XML", "unavailable retry none", lambda: _api_body(503, "<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>")),
        ("CDN page", "unavailable retry maybe", lambda: _api_body(520, "<!DOCTYPE html><html><head><title>520</title></head></html>")),
        ("origin down", "unavailable retry none", lambda: _api_body(521, "<!DOCTYPE html>")),
        ("PUT 503", "unavailable retry none", lambda: _api_body(503, "", method="PUT")),
        ("DELETE 500", "unavailable retry none", lambda: _api_body(500, "", method="DELETE")),
        ("PATCH 502", "unavailable retry maybe", lambda: _api_body(502, "", method="PATCH")),
        ("redirect not followed", "invalid_argument no none", lambda: _api_body(301, "", {"location": "/x"})),
        ("too large", "invalid_argument no none", lambda: _api_body(413, "")),
        ("not supported", "unavailable no none", lambda: _api_body(501, "")),
        ("locked", "conflict retry none", lambda: _api_body(423, "")),
        ("too early", "unavailable retry none", lambda: _api_body(425, "")),
        ("server says no retry", "unavailable no maybe", lambda: _api_body(503, "", {"x-should-retry": "false"})),
    ]),
]  # fmt: skip
