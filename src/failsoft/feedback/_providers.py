"""Keys that carry their maker's mark: a literal beginning, then a run of at least so many characters.

Sources: the makers' own pages about key formats and secret scanning, each a published fact.
Found by a search for the literal first, so that a text without it costs next to nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from failsoft.feedback._names import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PROVIDER_KEYS", "provider_spans"]

_RUN = r"[A-Za-z0-9_\-]"
_DOTTED = r"[A-Za-z0-9_\-.]"
_BASE64 = r"[A-Za-z0-9+/=_\-.]"

PROVIDER_KEYS: tuple[tuple[str, str, str, int], ...] = (
    # maker, literal beginning, characters that follow, how many at least
    ("Anthropic, OpenAI, OpenRouter, DeepSeek", "sk-", _RUN, 12),
    ("Stripe", "sk_live_", _RUN, 8),
    ("Stripe", "sk_test_", _RUN, 8),
    ("Stripe", "rk_live_", _RUN, 8),
    ("Stripe", "rk_test_", _RUN, 8),
    ("Stripe", "whsec_", _BASE64, 12),
    ("AWS", "AKIA", r"[A-Z0-9]", 12),
    ("AWS", "ASIA", r"[A-Z0-9]", 12),
    ("AWS Bedrock", "ABSK", _BASE64, 40),
    ("Google", "AIza", _RUN, 20),
    ("Google", "ya29.", _RUN, 16),
    ("Google", "GOCSPX-", _RUN, 12),
    ("GitHub", "ghp_", _RUN, 12),
    ("GitHub", "gho_", _RUN, 12),
    ("GitHub", "ghu_", _RUN, 12),
    ("GitHub", "ghs_", _RUN, 12),
    ("GitHub", "ghr_", _RUN, 12),
    ("GitHub", "github_pat_", _RUN, 12),
    ("GitLab", "glpat-", _DOTTED, 12),
    ("GitLab", "gldt-", _RUN, 12),
    ("Slack", "xox", r"[a-z]-[A-Za-z0-9\-]", 10),
    ("Slack", "xapp-", _RUN, 12),
    ("Slack", "hooks.slack.com/services/", r"[A-Za-z0-9/]", 8),
    ("Discord", "/api/webhooks/", r"[A-Za-z0-9_\-/]", 20),
    ("Hugging Face", "hf_", r"[A-Za-z0-9]", 16),
    ("Groq", "gsk_", r"[A-Za-z0-9]", 16),
    ("xAI", "xai-", _RUN, 20),
    ("Perplexity", "pplx-", _RUN, 16),
    ("Replicate", "r8_", r"[A-Za-z0-9]", 20),
    ("Tavily", "tvly-", _RUN, 12),
    ("npm", "npm_", r"[A-Za-z0-9]", 20),
    ("PyPI", "pypi-", _RUN, 40),
    ("SendGrid", "SG.", _DOTTED, 20),
    ("Shopify", "shpat_", r"[A-Za-z0-9]", 16),
    ("DigitalOcean", "dop_v1_", r"[a-z0-9]", 16),
    ("HashiCorp Vault", "hvs.", _RUN, 16),
    ("Databricks", "dapi", r"[a-f0-9]", 28),
    ("Grafana", "glsa_", _RUN, 16),
    ("GitLab runner", "glrt-", _DOTTED, 12),
    ("Sentry", "sntrys_", _BASE64, 20),
    ("Doppler", "dp.pt.", r"[A-Za-z0-9]", 16),
    ("Pulumi", "pul-", r"[a-f0-9]", 30),
    ("Shopify", "shpss_", r"[A-Za-z0-9]", 16),
    ("Square", "sq0atp-", _RUN, 16),
    ("Square", "sq0csp-", _RUN, 16),
    ("Brevo", "xkeysib-", _RUN, 20),
    ("RubyGems", "rubygems_", r"[a-f0-9]", 20),
    ("Postman", "PMAK-", _RUN, 20),
    ("Figma", "figd_", _RUN, 16),
    ("Supabase", "sbp_", r"[a-f0-9]", 20),
    ("Tailscale", "tskey-", _RUN, 16),
    ("PlanetScale", "pscale_", _DOTTED, 16),
    ("NVIDIA", "nvapi-", _RUN, 16),
    ("Docker Hub", "dckr_pat_", _RUN, 16),
    ("Atlassian", "ATATT3x", _BASE64, 20),
    ("Linear", "lin_api_", r"[A-Za-z0-9]", 16),
    ("Notion", "ntn_", r"[A-Za-z0-9]", 20),
    ("Meta", "EAAC", r"[A-Za-z0-9]", 40),
    ("any maker of JSON Web Tokens", "eyJ", _DOTTED, 16),
    ("age", "AGE-SECRET-KEY-", r"[A-Z0-9]", 20),
)

_TAILS = tuple(
    # A run that is too short after its class prefix is no key; a possessive run never goes back.
    (literal, re.compile(f"{chars}{{{least},}}+" if chars.count("[") == 1 else chars + f"{{{least},}}+"))
    for _, literal, chars, least in PROVIDER_KEYS
)
_MIN_KEY_CHARS = 15
_LONG = b"x" * _MIN_KEY_CHARS
_WORD_MAP = bytes(ord("x") if chr(code).isalnum() or chr(code) in "_-." else ord(" ") for code in range(256))
_WHOLE_MARKS = ("/", ".")  # literals that may stand in the middle of an address
_TELEGRAM = re.compile(r"[0-9]{8,10}+:AA[A-Za-z0-9_\-]{30,40}+")


def provider_spans(text: str) -> Iterator[Span]:
    """The keys in a text that show whose they are."""
    # Keys are long words: most texts have few, and the literals are looked for in those alone.
    long_words = _long_words(text)
    if not long_words:
        return
    for literal, tail in _TAILS:
        if literal not in (text if "/" in literal else long_words):
            continue
        at = text.find(literal)
        while at >= 0:
            after = at + len(literal)
            found = tail.match(text, after)
            if found and (literal[0] in _WHOLE_MARKS or "." in literal or _starts_word(text, at)):
                start = after if "/" in literal else at
                yield Span(start, found.end(), "secret")
                after = found.end()
            at = text.find(literal, after)
    if ":AA" in text:
        for bot in _TELEGRAM.finditer(text):
            yield Span(bot.start(), bot.end(), "secret")


def _long_words(text: str) -> str:
    """The words that are long enough for a key, one after another.

    By a map of the text with one byte a character, because a search in bytes is 10 times as fast as splitting.
    """
    words = text.encode("ascii", "replace").translate(_WORD_MAP)
    found: list[str] = []
    at = words.find(_LONG)
    while at >= 0:
        end = words.find(b" ", at)
        end = len(words) if end < 0 else end
        found.append(text[at:end])
        at = words.find(_LONG, end)
    return " ".join(found)


def _starts_word(text: str, at: int) -> bool:
    """Whether no letter or digit stands before: `task-17` holds no key, `key_sk-...` and `=sk-...` may."""
    return at == 0 or not text[at - 1].isalnum() or not text[at - 1].isascii()
