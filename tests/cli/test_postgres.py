"""The commands on a PostgreSQL store: the same words as on a file, and no password in an error."""

import asyncio
import json

import pytest

import tests.cli.shop as shop
from tests.stores.server import postgres_server

__all__ = ["postgres_server"]

psycopg = pytest.importorskip("psycopg")
pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_a_day_on_a_server(cli, postgres_server, capsys, monkeypatch):
    """Runs, doubts, statistics and a resolution."""
    with psycopg.connect(postgres_server.url, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS failsoft CASCADE")
    doubt = asyncio.run(shop.a_day(postgres_server.url))
    monkeypatch.setenv("FAILSOFT_STORE", postgres_server.url)
    assert cli("runs", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["calls"] == 7
    assert cli("show", "last", "--json") == 0
    assert json.loads(capsys.readouterr().out)["doubts"][0]["id"] == doubt
    assert cli("stats", "--arguments", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["field"] == "count"
    assert cli("doubts", "resolve", doubt, "--happened") == 0
    assert cli("doubts") == 0
    assert cli("export") == 0
    assert "doubt_resolved" in capsys.readouterr().out


def test_a_server_that_is_away(cli, capsys):
    """Code 1 and the reason, without the password of the URL."""
    url = "postgresql://ann:hunter2hunter2@127.0.0.1:9/shop"
    assert cli("runs", "--store", url) == 1
    err = capsys.readouterr().err
    assert "ledger_unavailable" in err
    assert "hunter2" not in err
