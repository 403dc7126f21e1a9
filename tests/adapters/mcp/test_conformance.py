"""The protocol's own conformance suite says the same through the proxy as directly.

By default the newest version of the protocol is tried on all ways and the last one with a handshake where no process is
started for each session. `FAILSOFT_CONFORMANCE=full` tries all that both versions of the suite know, for a quarter of an hour.
"""

import os

import pytest

from tests.adapters.mcp import conformance_suite as conformance
from tests.adapters.mcp.conformance_suite import Suite, differences, once, passed

FULL = os.environ.get("FAILSOFT_CONFORMANCE") == "full"
STABLE, NEXT = "0.1.16", "0.2.0-alpha.12"
MODERN, LAST = "2026-07-28", "2025-11-25"
# How many checks pass directly: fewer would mean that the fixtures miss what the suite asks for.
SERVER = {
    (NEXT, None): 276,
    (NEXT, MODERN): 152,
    (NEXT, LAST): 84,
    (NEXT, "2025-06-18"): 56,
    (NEXT, "2025-03-26"): 3,
    (STABLE, LAST): 44,
    (STABLE, "2025-06-18"): 26,
}
# A stream is what a server behind pipes does not have, so it cannot close one in the middle of a call.
NO_STREAM = "server-sse-polling: server-sse-disconnect-resume ServerDisconnectResume"
PIPES = {NO_STREAM: ("1 SUCCESS", "absent")}
ALWAYS = [(NEXT, MODERN, ("before_pipes", "before_url")), (STABLE, LAST, ("before_url",))]
ALL = [(version, revision, ("before_pipes", "before_url")) for version, revision in SERVER]
SOME = ["tools_call", "http-custom-headers", "sep-2322-client-request-state", "auth/metadata-default"]
# The SDK's client has no proofs of possession and no workload identities, and refuses metadata about somebody else, which
# the stable suite serves once.
NOT_DIRECTLY = [(NEXT, f"auth/{name}") for name in ("dpop", "dpop-nonce", "wif-jwt-bearer")]
NOT_DIRECTLY += [(STABLE, "auth/2025-03-26-oauth-metadata-backcompat")]
# What is bound to the true address of an authorization server cannot hold before a proxy at another: documents that name
# a client and where it waits, signatures made for that server, and a client's register of such servers.
CLIENT, TOKEN = "the client", "valid-bearer-token ValidBearerToken"
REGISTERED, KIND = (
    "client-registration ClientRegistration",
    "sep-837-application-type-present DCR application_type specified",
)
EMPLOYER = {"complete-flow-jwt-bearer CompleteFlowJwtBearer", TOKEN, CLIENT}
SIGNED = {"client-credentials-jwt-verified ClientCredentialsJwtVerified", TOKEN, CLIENT}
BOUND = {
    (NEXT, "auth/basic-cimd"): {"cimd-client-id-used Client ID Metadata Document Usage", REGISTERED, CLIENT},
    (NEXT, "auth/offline-access-scope"): {
        "sep-2207-client-metadata-grant-types Client metadata includes refresh_token grant type (DCR)",
        REGISTERED,
        KIND,
    },
    (NEXT, "auth/authorization-server-migration"): {
        "sep-2352-reregister-on-as-change Client re-registers with the new authorization server",
        CLIENT,
    },
    (NEXT, "auth/client-credentials-jwt"): SIGNED,
    (STABLE, "auth/client-credentials-jwt"): SIGNED,
    (NEXT, "auth/enterprise-managed-authorization"): EMPLOYER,
    (STABLE, "auth/cross-app-access-complete-flow"): EMPLOYER,
}

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.server,
    pytest.mark.timeout(3600 if FULL else 400),  # the first test installs the suite
]


def at(revision):
    return () if revision is None else ("--spec-version", revision)


@pytest.mark.parametrize(("version", "revision", "ways"), ALL if FULL else ALWAYS)
def test_a_server_passes_the_same_checks(tmp_path, version, revision, ways):
    """Each check of a server has the same outcome before pipes and before a URL as directly, and directly all pass."""
    suite, found = Suite(version), {}
    for way in ("direct", *ways):
        with getattr(conformance, way)(tmp_path) as url:
            found[way] = suite.run("server", tmp_path / way, "--url", url, "--suite", "all", *at(revision))
    directly = found["direct"]
    assert "FAILURE" not in {outcome for checks in directly.values() for _, outcome in checks}
    assert sum(passed(directly).values()) == SERVER[version, revision]
    for way in ways:
        told = differences(directly, found[way])
        closes = version == NEXT and way == "before_pipes" and "server-sse-polling" in directly
        assert told == (PIPES if closes else {}), way


def client_cases():
    if not FULL:
        return [(NEXT, MODERN, name) for name in SOME] + [(NEXT, LAST, "sse-retry")]
    revisions = [(STABLE, None), (NEXT, None), (NEXT, MODERN), (NEXT, LAST), (NEXT, "2025-06-18")]
    return [(version, revision, None) for version, revision in revisions]


@pytest.mark.parametrize(("version", "revision", "scenario"), client_cases())
def test_a_client_passes_the_same_checks(tmp_path, version, revision, scenario):
    """Each check of a client has the same outcome with the proxy between it and the server, also where it logs in."""
    suite = Suite(version)
    for name in suite.client_scenarios(revision) if scenario is None else [scenario]:
        if name.startswith("auth/") and revision is not None and scenario is None:
            continue  # tried once, and not for each revision
        ways = []
        for more in ((), ("--through",)):
            folder = tmp_path / f"{name.replace('/', '-')}{''.join(more)}"
            command = " ".join((*conformance.CLIENT, *more))
            ways.append(suite.run("client", folder, "--scenario", name, "--command", command, *at(revision)))
        if (version, name) not in NOT_DIRECTLY:
            assert {outcome for _, outcome in ways[0][name]} <= {"SUCCESS", "SKIPPED"}, name
        if name.startswith("auth/"):
            ways = [once(found) for found in ways]
        assert {told.partition(": ")[2] for told in differences(*ways)} == BOUND.get(
            (version, name), set()
        ), name
