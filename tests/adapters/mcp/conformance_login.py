"""How the conformance suite's client logs in: as the official SDK does it, with a browser that is a request."""

from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

CALLBACK = "http://127.0.0.1:41234/callback"
DOCUMENT = "https://conformance-test.local/client-metadata.json"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"


class Storage:
    """Tokens and the client's registration, for as long as the client runs."""

    def __init__(self, client=None):
        self.tokens, self.client = None, client

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser:
    """Opens the page where one logs in; the suite's sends the person back at once."""

    def __init__(self):
        self.went_to = ""

    async def open(self, url):
        async with httpx2.AsyncClient(follow_redirects=False) as http:
            answer = await http.get(url)
            while answer.is_redirect and not answer.headers["location"].startswith(CALLBACK):
                answer = await http.get(answer.headers["location"])
        self.went_to = answer.headers.get("location", "")

    async def came_back(self):
        said = {name: values[0] for name, values in parse_qs(urlsplit(self.went_to).query).items()}
        return AuthorizationCodeResult(
            code=said.get("code", ""), state=said.get("state"), iss=said.get("iss")
        )


def by_person(url, context):
    """The flow with a browser; registered before where the suite says so."""
    known = None
    if "client_id" in context:
        known = OAuthClientInformationFull(
            client_id=context["client_id"],
            client_secret=context.get("client_secret"),
            redirect_uris=[CALLBACK],
            token_endpoint_auth_method="client_secret_basic",
        )
    browser = Browser()
    metadata = OAuthClientMetadata(client_name="conformance", redirect_uris=[CALLBACK])
    return OAuthClientProvider(
        server_url=url,
        client_metadata=metadata,
        storage=Storage(known),
        redirect_handler=browser.open,
        callback_handler=browser.came_back,
        client_metadata_url=DOCUMENT,
    )


def by_secret(url, context):
    return ClientCredentialsOAuthProvider(url, Storage(), context["client_id"], context["client_secret"])


def by_key(url, context):
    signed = SignedJWTParameters(
        issuer=context["client_id"],
        subject=context["client_id"],
        signing_algorithm=context["signing_algorithm"],
        signing_key=context["private_key_pem"],
    )
    provider = signed.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(url, Storage(), context["client_id"], provider)


def by_employer(url, context):
    async def exchange(audience, resource):
        form = {
            "grant_type": EXCHANGE,
            "requested_token_type": ID_JAG,
            "subject_token": context["idp_id_token"],
            "subject_token_type": ID_TOKEN,
            "audience": audience,
            "resource": resource,
            "client_id": context["idp_client_id"],
        }
        async with httpx2.AsyncClient() as http:
            answer = await http.post(context["idp_token_endpoint"], data=form)
        return answer.json()["access_token"]

    issuer = context.get("issuer") or issuer_of(url)
    return IdentityAssertionOAuthProvider(
        url,
        Storage(),
        context["client_id"],
        context["client_secret"],
        issuer,
        exchange,
        token_endpoint_auth_method="client_secret_basic",
    )


def issuer_of(url):
    """Whom a server's own metadata names for its logins."""
    parts = urlsplit(url)
    for path in (
        f"/.well-known/oauth-protected-resource{parts.path}",
        "/.well-known/oauth-protected-resource",
    ):
        answer = httpx2.get(f"{parts.scheme}://{parts.netloc}{path}")
        if answer.is_success:
            return answer.json()["authorization_servers"][0]
    raise LookupError(f"{url} names nobody for its logins")


FLOWS = {
    "auth/client-credentials-basic": by_secret,
    "auth/client-credentials-jwt": by_key,
    "auth/enterprise-managed-authorization": by_employer,
    "auth/cross-app-access-complete-flow": by_employer,
}


def login_for(scenario, url, context):
    """The way to log in for one scenario."""
    return FLOWS.get(scenario, by_person)(url, context)
