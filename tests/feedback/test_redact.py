"""Redaction: placeholders, what is kept, what is added, and time that grows with the text and not faster."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failsoft.core.errors import NotFound, UsageError
from failsoft.core.events import Event, EventName
from failsoft.feedback import Redactor, redact

# Pieces that look like the beginning, middle or end of something that is hidden.
PIECES = st.sampled_from(
    [
        *[
            "password=",
            "token: ",
            "sk-",
            "ghp_",
            "Bearer ",
            "://",
            "@",
            "/",
            "\\",
            "C:\\",
            "\\\\",
            ".internal",
            ":5432",
        ],
        *["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "Traceback (most recent call last):\n"],
        *[
            'File "',
            '", line 1',
            "abc",
            "Zx81kQp93LmT77ab",
            "10.0.0.1",
            "::1",
            " ",
            "\n",
            "=",
            "&",
            "?",
            "[",
            "]",
            '"',
        ],
        *["[secret]", "user ", "host ", "é", "İ", "'"],
    ]
)


def test_two_mentions_of_one_thing_read_as_one_thing():
    """The same secret, path or host gets the same placeholder, another one a number."""
    text = "sk-FAKEfake0123456789a, sk-FAKEfake0123456789b and again sk-FAKEfake0123456789a"
    assert redact(text) == "[secret], [secret 2] and again [secret]"
    assert redact("/srv/a/x.csv, /srv/b/x.csv, /srv/a/x.csv") == "[path:x.csv], [path 2:x.csv], [path:x.csv]"


def test_a_numbered_placeholder_is_read_as_one():
    """The second secret of a text may stand in an address: its placeholder is neither cut nor taken for a host."""
    text = "password=hunter2 at postgres://bob:s3cr3t@db.internal:5432/x"
    clean = "password=[secret] at postgres://[user]:[secret 2]@[host]/x"
    assert redact(text) == clean
    operator = redact(text, level="operator")
    assert operator == "password=[secret] at postgres://bob:[secret 2]@db.internal:5432/x"
    assert redact(operator) == redact(clean) == clean
    three = redact(f"{text}, token=abcdef0123456789 and redis://:pw9@cache:6379/0")
    assert three == f"{clean}, token=[secret 3] and redis://:[secret 4]@[host 2]/0"


def test_placeholders_agree_within_one_error():
    """Message, suggestion and context of one error name one thing alike."""
    error = NotFound("no /srv/b/x.csv", suggestion="look at /srv/a/x.csv", context={"path": "/srv/b/x.csv"})
    clean = Redactor().error(error, "model")
    assert clean.message == "no [path:x.csv]"
    assert clean.suggestion == "look at [path 2:x.csv]"
    assert clean.context == {"path": "[path:x.csv]"}
    assert error.message == "no /srv/b/x.csv"
    assert type(clean) is NotFound


def test_an_error_keeps_its_cause_when_it_is_cleaned():
    """The operator view needs the cause of a cleaned error."""
    error = NotFound("x")
    error.__cause__ = KeyError("y")
    assert Redactor().error(error).__cause__ is error.__cause__


@pytest.mark.parametrize(
    "text",
    [
        "open /data/in/report.csv",
        "https://shop.internal/cart",
        "10.1.2.3 is down",
        "user 'alice' is unknown",
        r"C:\in\a.txt",
    ],
)
def test_what_the_model_sent_stays(text):
    """A path, host, address or account that the model itself sent is said to it again."""
    sent = ["/data/in/report.csv", "https://shop.internal/cart", "10.1.2.3", "alice", r"C:\in\a.txt"]
    assert redact(text) != text
    assert redact(text, keep=sent) == text


def test_a_secret_is_hidden_even_where_the_model_sent_it():
    """`keep` does not cover secrets: what is said again is also logged again."""
    assert redact("password=Winter-4711", keep=["Winter-4711"]) == "password=[secret]"


@pytest.mark.parametrize("before", ["", "\n", "x\n", "\r\n", "\t", "a b\n\n", "“"])
def test_a_line_break_before_a_name_hides_nothing_of_it(before):
    """What stands at the beginning of a line is found like anything else."""
    assert redact(f"{before}auth='Winter-4711'", level="operator") == f"{before}auth='[secret]'"
    assert redact(f"{before}redis:6379 10.0.0.1") == f"{before}[host] [address]"


def test_the_name_of_a_person_is_no_base_name():
    """A home folder is hidden whole, a file in it keeps its name."""
    assert redact("cannot list /home/alice") == "cannot list [path]"
    assert redact("cannot list /home/alice/notes.txt") == "cannot list [path:notes.txt]"


def test_values_are_cleaned_by_their_names():
    """In a mapping the name of a field says that its value is a secret."""
    value = {
        "api_key": "short",
        "nested": [{"password": 4711, "page_token": "abc"}],
        "max_tokens": 5,
        "ok": True,
    }
    assert Redactor().value(value, "operator") == {
        "api_key": "[secret]",
        "nested": [{"password": "[secret 2]", "page_token": "abc"}],
        "max_tokens": 5,
        "ok": True,
    }


def test_values_are_bounded_in_depth_and_length():
    """A value that is too deep or too long is cut and says so, also one that contains itself."""
    loop: list = []
    loop.append(loop)
    assert "nested too deeply" in repr(Redactor().value(loop))
    assert Redactor().value(list(range(300)))[-1] == "[100 more]"


def test_own_patterns_and_values_are_hidden_at_both_levels():
    """Patterns and exact values of the user's own are secrets too, also as JSON or a URL writes them."""
    redactor = Redactor(patterns=[r"CUST-\d+", re.compile("acme", re.I)], secrets=['a "b" c/d'])
    for level in ("model", "operator"):
        assert redactor.text("CUST-17 of ACME", level) == "[secret] of [secret 2]"
        assert "b" not in redactor.text(r"x a \"b\" c/d", level).replace("secret", "")
        assert "%22" not in redactor.text("q=a%20%22b%22%20c%2Fd", level)


def test_a_pattern_that_matches_nothing_at_all_is_refused():
    """A pattern that matches the empty text would hide between all characters."""
    with pytest.raises(UsageError, match="empty text"):
        Redactor(patterns=["x*"])


def test_a_level_that_does_not_exist_is_refused():
    """A mistyped level must not quietly show more."""
    with pytest.raises(UsageError, match="'model' or 'operator'"):
        redact("x", level="modell")


def test_mail_and_telephone_are_hidden_on_request():
    """Mail addresses and telephone numbers stay, unless they are asked to go."""
    text = "write to bob@example.com or call +49 30 1234567"
    assert redact(text) == text
    assert Redactor(emails=True, phones=True).text(text) == "write to [email] or call [phone]"
    assert Redactor(emails=True).text(text, keep=["bob@example.com"]) == text


def test_a_call_of_its_own_keeps_and_hides_what_belongs_to_it():
    """`for_call` keeps what the model sent, but not what it sent under a secret's name."""
    redactor = Redactor().for_call(
        {"path": "/srv/x/in.csv", "login": {"password": "hunter2000"}}, secrets=["tenant-17"]
    )
    assert (
        redactor.text("/srv/x/in.csv for tenant-17 with hunter2000")
        == "/srv/x/in.csv for [secret] with [secret 2]"
    )


def test_arguments_that_came_as_text_are_read_for_their_secrets():
    """JSON text is looked into, text that is none is kept as it is, and both never raise."""
    redactor = Redactor().for_call('{"pin": 1, "auth": {"password": 12345678}, "path": "/srv/in.csv"}')
    assert redactor.text("/srv/in.csv 12345678") == "/srv/in.csv [secret]"
    assert Redactor().for_call(b'{"path": "/srv/in.csv').text("x/srv/in.csv") == "x/srv/in.csv"
    assert Redactor().for_call(None).text("a") == "a"


def test_an_event_is_cleaned_of_secrets_only():
    """Operators see paths and hosts; nobody sees secrets."""
    event = Event(
        name=EventName.CALL_FAILED, at=1.0, data={"error": "/srv/x password=hunter2", "token": "abc"}
    )
    assert Redactor().event(event).data == {"error": "/srv/x password=[secret]", "token": "[secret 2]"}


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_can_be_cleaned_and_stays_clean(text):
    """Whatever comes in, nothing is raised, and a second cleaning at the operator's level changes nothing."""
    redact(text)
    once = redact(text, level="operator")
    assert redact(once, level="operator") == once


@given(st.text(max_size=200))
def test_any_characters_can_be_cleaned(text):
    """Unicode of every sort passes, also letters that change their length in lower case."""
    redact(text)


HOSTILE = {
    "slashes": "/a",
    "backslashes": "\\",
    "dots": "a.",
    "internal names": "a.internal.",
    "hex and colons": "ab:",
    "at signs": "a:b@",
    "quotes": 'password="',
    "escaped quotes": 'password=\\"\\\\',
    "key words": "token key auth pass ",
    "spoken keys": "key is was value provided ",
    "key beginnings": "sk-",
    "URLs": "x://",
    "accounts in URLs": "x://a@",
    "frames": 'File "x", line 1, in y\n',
    "unclosed frames": 'File "',
    "tracebacks": "Traceback (most recent call last):\n",
    "PEM": "-----BEGIN PRIVATE KEY-----",
    "digits": "1.1.1.",
    "users": "user name 'a' ",
    "blanks": " ",
    "tags": "<a",
    "titles": "<html><title>",
    "drives": "C:\\a b ",
    "shares": "\\\\a\\",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(HOSTILE))
def test_time_is_linear_in_hostile_text(name):
    """A text of 1 MB takes seconds at most, and not much more than ten times what 100 kB take."""
    piece = HOSTILE[name]

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.perf_counter()
        redact(text)
        return time.perf_counter() - start

    short = min(seconds(100_000) for _ in range(3))
    long = min(seconds(1_000_000) for _ in range(2))
    assert long < 8
    # Quadratic time would give a hundred times; the floor is for timers and a busy machine.
    assert long < 40 * max(short, 0.005)
