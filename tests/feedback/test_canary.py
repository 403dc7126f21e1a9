"""Forty things that must not leak, planted everywhere; twenty that a model needs, and that must survive."""

import json
import logging

import pytest

from failsoft.core.calls import Attempt, ToolCall
from failsoft.core.errors import AgentError, make_error
from failsoft.core.events import Event, EventName
from failsoft.feedback import Feedback, Redactor, operator_lines, operator_view, redact
from failsoft.telemetry import Fanout, LogSink

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJmYWtlIn0.c2lnbmF0dXJlLWZha2U"
INJECTED = "tenant-4711-internal-id"

# What is written, and what of it must be gone at both levels.
SECRETS = {
    "Anthropic key": ("key sk-ant-api03-FAKEfakeFAKE0123456789-AA refused", "FAKEfakeFAKE0123456789"),
    "OpenAI project key": (
        "Incorrect API key provided: sk-proj-FAKEfake0123456789abcdef",
        "FAKEfake0123456789",
    ),
    "OpenAI old key": ("sk-FAKE0123456789abcdefFAKE0123", "FAKE0123456789abcdef"),
    "AWS key id": ("The key AKIAFAKE0123456789AB is not valid", "AKIAFAKE0123456789AB"),
    "AWS secret": ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYFAKEKEY", "K7MDENG"),
    "GitHub token": ("remote: ghp_FAKE0123456789abcdefFAKE0123456789ab denied", "ghp_FAKE0123"),
    "GitHub fine token": ("github_pat_11FAKE0123456789_abcdefabcdef", "11FAKE0123456789"),
    "GitLab token": ("with glpat-FAKE0123456789abcd", "glpat-FAKE0123"),
    "Slack token": ("xoxb-123456789012-FAKEfakeFAKE", "FAKEfakeFAKE"),
    "Slack webhook": ("POST https://hooks.slack.com/services/T000/B000/FAKEfake0123", "FAKEfake0123"),
    "Google key": ("?key=AIzaFAKE0123456789abcdefFAKE0123456789", "FAKE0123456789abcdef"),
    "Hugging Face token": ("hf_FAKEfakeFAKEfake0123456789", "FAKEfakeFAKE"),
    "Stripe key": ("No such key sk_live_FAKE0123456789abcd", "FAKE0123456789abcd"),
    "SendGrid key": ("SG.FAKEfakeFAKEfake.FAKEfake0123456789FAKEfake", "FAKEfake0123456789"),
    "npm token": ("npm_FAKE0123456789abcdefFAKE0123456789", "FAKE0123456789abcdef"),
    "JWT": (f"token was {JWT}", "eyJzdWIiOiJmYWtlIn0"),
    "bearer header": ("Authorization: Bearer FAKE-opaque-0123456789", "FAKE-opaque"),
    "basic header": ("'Authorization': 'Basic c3ZjOldpbnRlci00NzEx'", "c3ZjOldpbnRlci00NzEx"),
    "cookie": ("Cookie: session=FAKEsession0123; theme=dark", "FAKEsession0123"),
    "set-cookie": ("set-cookie: sid=FAKEsid0123456; HttpOnly", "FAKEsid0123456"),
    "x-api-key header": ("{'x-api-key': 'FAKEheader0123'}", "FAKEheader0123"),
    "private key": (
        "-----BEGIN RSA PRIVATE KEY-----\nFAKEpem0123\n-----END RSA PRIVATE KEY-----",
        "FAKEpem0123",
    ),
    "password in a DSN": ("postgresql://svc:Winter-4711@db.example.com/sales", "Winter-4711"),
    "password with an @": ("mysql://svc:Win@ter-4711@db.example.com/sales", "ter-4711"),
    "password in a URL": ("GET https://bob:Winter-4711@api.example.com/x", "Winter-4711"),
    "password, key=value": ("host=db user=x password=Winter-4711 dbname=y", "Winter-4711"),
    "password in JSON": ('{"user": "x", "password": "Winter \\" tulip4711"}', "tulip4711"),
    "password in JSON in JSON": ('"{\\"password\\": \\"Winter-tulip4711\\"}"', "Winter-tulip4711"),
    "password, spoken": ("wrong password: Winter4711", "Winter4711"),
    "token in a query": ("url https://api.example.com/v1?access_token=FAKEquery0123&page=2", "FAKEquery0123"),
    "signed URL": ("https://b.s3.amazonaws.com/k?X-Amz-Signature=FAKEsig0123&x=1", "FAKEsig0123"),
    "client secret": ("client_secret=FAKEclient0123 is wrong", "FAKEclient0123"),
    "Azure key": ("AccountName=a;AccountKey=FAKEazure0123==;EndpointSuffix=x", "FAKEazure0123"),
    "masked key": ("Incorrect API key provided: sk-abcde**********wxyz", "abcde"),
    "random near a key word": ("invalid token Zx81kQp93LmT77ab", "Zx81kQp93LmT77ab"),
    "account without scheme": ("cannot reach svc:Winter-4711@db.example.com", "Winter-4711"),
    "bot token": (
        "https://api.telegram.org/bot123456789:AAFAKE-0123456789abcdefghijFAKE012345/x",
        "AAFAKE-0123",
    ),
    "flag of a command": ("ran: client --password Winter4711 -v", "Winter4711"),
    "password in quotes": ('Invalid password "Winter-4711"', "Winter-4711"),
    "pair for requests": ("auth=('bob', 'Winter-4711')", "Winter-4711"),
    "bytes": ("{'client_secret': b'FAKEbytes0123'}", "FAKEbytes0123"),
    "in a query, encoded": ("%22password%22%3A%22Winter4711%22", "Winter4711"),
    "in Chinese": ("密码：Winter4711", "Winter4711"),
    "injected value": (f"no row for {INJECTED}", INJECTED),
}
# Gone from the model's view only.
PLACES = {
    "POSIX path": ("open '/home/alice/.config/acme/prod.json'", "/home/alice"),
    "server path": ("/srv/app/current/core.py is missing", "/srv/app"),
    "path with blanks": ("'/Users/alice/My Documents/plan.txt'", "alice"),
    "Windows path": ("cannot open C:\\Users\\alice\\AppData\\cache.db", "alice"),
    "escaped Windows path": ("'C:\\\\Users\\\\alice\\\\cache.db'", "alice"),
    "UNC path": ("\\\\files01\\finance\\q3.xlsx is locked", "files01"),
    "file URL": ("file:///home/alice/x.csv", "alice"),
    "path behind a colon": ("path:/srv/app/x.csv", "/srv/app"),
    "extended Windows path": ("\\\\?\\C:\\Users\\alice\\x.csv", "alice"),
    "internal host": ("could not reach db7.corp.internal", "db7.corp"),
    "cluster host": ("lookup billing.prod.svc.cluster.local failed", "billing.prod"),
    "host with a port": ("Error connecting to redis:6379", "redis:6379"),
    "internal part of a public name": ("https://billing.internal.example.com/x failed", "billing.internal"),
    "host in a DSN": ("postgresql://orders-db7/sales", "orders-db7"),
    "private address": ("dial tcp 10.20.30.40:5432: refused", "10.20.30.40"),
    "public address": ("Your IP address: 203.0.113.77", "203.0.113.77"),
    "IPv6": ("connect to [2001:db8::1]:443 failed", "2001:db8"),
    "account at a host": ("for user svc_reader@10.1.1.1", "svc_reader"),
    "account at an internal host": ("for user svc_reader@db7.corp", "svc_reader"),
    "account": ('password authentication failed for user "svc_reader"', "svc_reader"),
    "traceback": (
        'Traceback (most recent call last):\n  File "/srv/x.py", line 88, in run\n    f()\nValueError: bad',
        "line 88",
    ),
    "source line": ("certificate verify failed (_ssl.c:1006)", "_ssl.c"),
    "object": ("<Future at 0x7f00aa state=finished>", "0x7f00aa"),
    "docs link": (
        "bad value. For further information visit https://errors.pydantic.dev/2/v/missing",
        "pydantic.dev",
    ),
}
NEEDED = [
    "no such table: orders",
    "column totl does not exist; did you mean total?",
    "order 48213 was not found",
    "Unexpected token '}' at line 3 column 5",
    "max_tokens: 5000 is more than 4096",
    "page_token=CAUQAA has expired",
    "password: must have at least 8 characters",
    "GET /v1/orders/17 answered 404",
    "/items/0/price must be a number",
    "commit 8f00aa11bb22cc33dd44ee55ff6677889900aabb is unknown",
    "Key (id)=(8f00aa11-aaaa-4bbb-8ccc-1234567890ab) already exists",
    "version 1.2.3.4 is too old",
    "at 2026-03-02T10:00:00Z, 12:30:45 local",
    "content type application/json, text/html and n/a",
    "https://shop.example/cart?id=3 is empty",
    "the ratio was 3:10",
    "primary key: user_id",
    "user bob@example.com is not in the tenant",
    "Basic authentication is not supported",
    "currency must be one of EUR, USD, GBP",
    "the tool search_catalogue allows 5 searches a minute",
    "文件不存在：报告.csv",
]


def _planted() -> tuple[AgentError, ToolCall]:
    """An error with everything planted in its message, cause, note, body, headers and context."""
    every = [text for text, _ in (*SECRETS.values(), *PLACES.values())]
    cause = RuntimeError("; ".join(every))
    cause.add_note("\n".join(every))
    context = {
        "body": every,
        "headers": {"Authorization": f"Bearer {JWT}"},
        "problems": [{"problem": t} for t in every],
    }
    error = make_error("internal", " ; ".join(every), suggestion="; ".join(every), context=context)
    error.__cause__ = cause
    return error, ToolCall("c1", "report", {"password": "Winter-4711", "day": "2026-03-02"})


@pytest.mark.parametrize("name", list(SECRETS))
@pytest.mark.parametrize("level", ["model", "operator"])
def test_a_secret_is_hidden_at_both_levels(name, level):
    """A planted secret is in neither the model's nor the operator's text."""
    text, canary = SECRETS[name]
    assert canary not in Redactor(secrets=[INJECTED]).text(text, level)


@pytest.mark.parametrize("name", list(PLACES))
def test_a_place_is_hidden_from_the_model(name):
    """A path, host, address, account or trace is not in the model's text."""
    text, canary = PLACES[name]
    assert canary not in redact(text)


@pytest.mark.parametrize("text", NEEDED)
def test_what_a_model_needs_survives(text):
    """Ordinary values, names, ids and public addresses are left as they are."""
    assert redact(text) == text


@pytest.mark.parametrize("style", ["json", "text"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_view_of_the_model_leaks(style, language):
    """With everything planted everywhere, the rendered view holds none of it, however long it may be."""
    error, call = _planted()
    feedback = Feedback(style, language, max_chars=100_000, redactor=Redactor(secrets=[INJECTED]))
    told = feedback.render(error, call=call)
    leaked = [name for name, (_, canary) in {**SECRETS, **PLACES}.items() if canary in told]
    assert leaked == []


def test_no_operator_view_log_line_or_event_holds_a_secret(caplog):
    """With everything planted everywhere, no secret is in what operators read."""
    error, call = _planted()
    redactor = Redactor(secrets=[INJECTED])
    history = [Attempt(number=1, tool="report", error=error)]
    view = operator_view(error, call=call, history=history, redactor=redactor)
    seen: list[Event] = []
    fanout = Fanout([LogSink(), seen.append], redactor)
    with caplog.at_level(logging.INFO, "failsoft"):
        fanout.emit(Event(name=EventName.CALL_FAILED, at=0.0, data={"error": str(error), **error.context}))
    told = "\n".join([json.dumps(view), *operator_lines(view), caplog.text, repr(seen)])
    assert [name for name, (_, canary) in SECRETS.items() if canary in told] == []
    assert "/srv/app" in told


@pytest.mark.parametrize("text", [text for text, _ in (*SECRETS.values(), *PLACES.values())])
@pytest.mark.parametrize("level", ["model", "operator"])
def test_redacting_twice_changes_nothing(text, level):
    """Whoever cleans a clean text gets the same text."""
    once = redact(text, level=level)
    assert redact(once, level=level) == once
