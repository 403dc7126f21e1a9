"""Services: stripe, slack_sdk, PyGithub and githubkit, kubernetes; smtplib, paramiko, dnspython, playwright."""

from __future__ import annotations

from typing import Any

from failsoft.classify.rules.answers import answered, answered_as
from failsoft.classify.rules.phrases import certificate
from failsoft.classify.rules.row import Context, row
from failsoft.classify.text import one_line, text_of
from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind, Owner

__all__ = ["ROWS"]

K, NONE, POSSIBLE, HUMAN = ErrorKind, Effect.NONE, Effect.POSSIBLE, Owner.HUMAN


def _certificate(exc: BaseException, context: Context) -> Verdict | None:
    del context
    return certificate(text_of(exc))


def _slack(exc: BaseException, context: Context) -> Verdict | None:
    """Slack answers 200 with `ok: false` and a code; a code that no table knows is a refusal all the same."""
    found = answered(exc, context)
    if found is None or found.kind != K.UNKNOWN:
        return found
    return verdict(K.INVALID_ARGUMENT, message=found.message)


_APIS = (
    row("stripe.APIConnectionError", read=_certificate),
    row("stripe.APIConnectionError", K.NETWORK, "connection_lost", inner=True),
    row("stripe.RateLimitError", read=answered_as(verdict(K.RATE_LIMITED))),
    row("stripe.CardError", read=answered_as(verdict(K.PERMISSION_DENIED, "card_declined"))),
    row("stripe.IdempotencyError", read=answered_as(verdict(K.CONFLICT, "idempotency_key_reused"))),
    row("stripe.AuthenticationError", read=answered_as(verdict(K.PERMISSION_DENIED, "unauthenticated"))),
    row("stripe.PermissionError", read=answered_as(verdict(K.PERMISSION_DENIED, "forbidden"))),
    row("stripe.StripeError stripe.InvalidRequestError", read=answered),
    row("stripe.InvalidRequestError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("stripe.SignatureVerificationError", K.INVALID_ARGUMENT, "bad_signature", NONE),
    row("stripe.StripeError", K.UNAVAILABLE, "", POSSIBLE, say=True),
    row("slack_sdk.SlackApiError", read=_slack),
    row("slack_sdk.SlackRequestError slack_sdk.SlackObjectFormationError slack_sdk.BotUserAccessError", K.INVALID_ARGUMENT, "", NONE, say=True),
    row("slack_sdk.SlackClientNotConnectedError", K.NETWORK, "connection_closed", NONE, context={"needs_reconnect": True}),
    row("slack_sdk.SlackClientConfigurationError", K.UNAVAILABLE, "not_configured", NONE, False, say=True, owner=HUMAN),
    row("slack_sdk.SlackTokenRotationError", K.PERMISSION_DENIED, "unauthenticated", NONE),
    row("github.RateLimitExceededException", read=answered_as(verdict(K.RATE_LIMITED))),
    row("github.TwoFactorException github.BadCredentialsException", read=answered_as(verdict(K.PERMISSION_DENIED, "unauthenticated"))),
    row("github.GithubException", read=answered),
    row("github.BadAttributeException", K.INVALID_OUTPUT, "unreadable_answer", POSSIBLE),
    row("githubkit.RateLimitExceeded", read=answered_as(verdict(K.RATE_LIMITED))),
    row("githubkit.RequestTimeout", K.TIMEOUT, "request_timeout", inner=True),
    row("githubkit.RequestFailed", read=answered),
    row("githubkit.RequestError", K.NETWORK, "connection_lost", inner=True),
    row("kubernetes.ApiException", read=answered),
    row("kubernetes.ConfigException", K.UNAVAILABLE, "not_configured", NONE, False, say=True, owner=HUMAN),
    row("kubernetes.ApiValueError kubernetes.ApiTypeError kubernetes.ApiKeyError kubernetes.ApiAttributeError", K.INVALID_ARGUMENT, "", NONE, say=True),
)  # fmt: skip


def _smtp(exc: Any, context: Context) -> Verdict | None:
    """RFC 5321 4.2.1: 4yz is a transient refusal, 5yz a permanent one; either way the mail was not taken."""
    del context
    code = getattr(exc, "smtp_code", None)
    refused = getattr(exc, "recipients", None)
    said: Any = getattr(exc, "smtp_error", b"")
    if isinstance(refused, dict) and refused:
        code, said = next(iter(refused.values()))
    if not isinstance(code, int) or not 400 <= code < 600:
        return None
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    message = f"The mail server refused ({code}). It says: {one_line(text, 160)}".removesuffix(" It says: ")
    if code in (530, 534, 535, 538):
        return verdict(K.PERMISSION_DENIED, "unauthenticated", message=message)
    if code < 500:
        return verdict(K.UNAVAILABLE, f"smtp_{code}", NONE, True, message=message)
    if code == 552:
        return verdict(K.QUOTA_EXHAUSTED, "storage_full", message=message)
    if code == 550 and isinstance(refused, dict):
        return verdict(K.NOT_FOUND, "no_such_mailbox", message=message)
    return verdict(K.INVALID_ARGUMENT, f"smtp_{code}", message=message)


_MAIL = (
    row(
        "smtplib.SMTPServerDisconnected",
        K.NETWORK,
        "connection_closed",
        NONE,
        text=r"please run connect\(\) first",
    ),
    row("smtplib.SMTPServerDisconnected", K.NETWORK, "connection_closed"),
    row(
        "smtplib.SMTPResponseException smtplib.SMTPRecipientsRefused smtplib.SMTPConnectError smtplib.SMTPHeloError",
        read=_smtp,
    ),
    row("smtplib.SMTPAuthenticationError", K.PERMISSION_DENIED, "unauthenticated", NONE),
    row("smtplib.SMTPConnectError smtplib.SMTPHeloError", K.NETWORK, "connect_failed", NONE),
    row("smtplib.SMTPNotSupportedError", K.UNAVAILABLE, "not_implemented", NONE, False, say=True),
    row("smtplib.SMTPException", K.UNAVAILABLE, "", POSSIBLE, False, inner=True, say=True),
)

_SSH = (
    row("paramiko.BadHostKeyException", K.UNAVAILABLE, "host_key_invalid", NONE, False, owner=HUMAN),
    row("paramiko.AuthenticationException", K.PERMISSION_DENIED, "unauthenticated", NONE),
    row("paramiko.NoValidConnectionsError", K.NETWORK, "connect_failed", NONE),
    row("paramiko.ChannelException", K.UNAVAILABLE, "channel_refused", NONE),
    row("paramiko.IncompatiblePeer", K.UNAVAILABLE, "not_implemented", NONE, False),
    row("paramiko.ProxyCommandFailure", K.NETWORK, "proxy_failed", NONE),
    row("paramiko.SSHException", K.UNAVAILABLE, "host_key_invalid", NONE, False, text=r"not found in known_hosts|host key", owner=HUMAN),
    row("paramiko.SSHException", K.NETWORK, "connect_failed", NONE, text=r"protocol banner|negotiation failed|no existing session|not active|not connected"),
    row("paramiko.SSHException", K.TIMEOUT, "connect_timeout", NONE, text=r"timeout opening channel"),
    row("paramiko.SSHException", K.NETWORK, "connection_lost", inner=True),
    row("paramiko.SFTPError", K.NETWORK, "connection_lost", text=r"closed|dropped|lost"),
    row("paramiko.SFTPError", K.INTERNAL, "", POSSIBLE, say=True),
)  # fmt: skip

# A look-up has no effect, so none of these can have had one.
_DNS = (
    row("dns.Timeout dns.LifetimeTimeout", K.TIMEOUT, "dns_timeout", NONE),
    row("dns.NXDOMAIN dns.NoAnswer dns.NoRootSOA", K.NOT_FOUND, "", NONE, say=True),
    row("dns.NoNameservers dns.NoResolverConfiguration", K.UNAVAILABLE, "dns_failed", NONE),
    row(
        "dns.SyntaxError dns.FormError dns.TooBig dns.YXDOMAIN dns.NotAbsolute",
        K.INVALID_ARGUMENT,
        "",
        NONE,
        say=True,
    ),
    row("dns.DNSException", K.UNAVAILABLE, "dns_failed", NONE, False),
)

_P = "playwright.Error"
_BROWSER = (
    row("playwright.TimeoutError", K.TIMEOUT, "request_timeout"),
    row("playwright.TargetClosedError", K.UNAVAILABLE, "browser_closed", context={"needs_reconnect": True}),
    row(_P, read=_certificate),
    row(_P, K.NETWORK, "dns_failed", NONE, text=r"ERR_NAME_NOT_RESOLVED|ERR_NAME_RESOLUTION_FAILED|NS_ERROR_UNKNOWN_HOST"),
    row(_P, K.NETWORK, "connect_refused", NONE, text=r"ERR_CONNECTION_REFUSED|NS_ERROR_CONNECTION_REFUSED"),
    row(_P, K.NETWORK, "host_unreachable", NONE, text=r"ERR_(?:ADDRESS_UNREACHABLE|INTERNET_DISCONNECTED|NETWORK_ACCESS_DENIED)|NS_ERROR_OFFLINE"),
    row(_P, K.NETWORK, "proxy_failed", NONE, text=r"ERR_(?:PROXY|TUNNEL)_CONNECTION_FAILED"),
    row(_P, K.TIMEOUT, "connect_timeout", NONE, text=r"ERR_CONNECTION_TIMED_OUT"),
    row(_P, K.TIMEOUT, "request_timeout", text=r"ERR_TIMED_OUT|timeout \d+ms exceeded|NS_ERROR_NET_TIMEOUT"),
    row(_P, K.NETWORK, "tls_failed", NONE, text=r"ERR_SSL_"),
    row(_P, K.UNAVAILABLE, "too_many_redirects", POSSIBLE, False, text=r"ERR_TOO_MANY_REDIRECTS"),
    row(_P, K.NETWORK, "connection_lost", text=r"ERR_(?:CONNECTION|EMPTY_RESPONSE|NETWORK_CHANGED|NETWORK_IO|HTTP2|QUIC|ABORTED|SOCKET|INCOMPLETE)|NS_(?:ERROR_NET|BINDING)"),
    row(_P, K.INTERNAL, "worker_died", text=r"crashed"),
    row(_P, K.UNAVAILABLE, "browser_closed", text=r"(?:page|context|browser|target|connection).{0,40}(?:has been |was |is )?closed", context={"needs_reconnect": True}),
    row(_P, K.UNAVAILABLE, "not_configured", NONE, False, text=r"executable doesn't exist|missing dependencies", owner=HUMAN),
    row(_P, K.INVALID_ARGUMENT, "", NONE, text=r"invalid url|strict mode violation|not a valid selector|unexpected token|unknown engine|unsupported", say=True),
    row(_P, K.UNKNOWN, "browser_error", POSSIBLE, False, say=True),
)  # fmt: skip

ROWS = _APIS + _MAIL + _SSH + _DNS + _BROWSER
