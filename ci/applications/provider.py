"""The storage and the person of a program with the MCP SDK for Python."""

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from helpers import browser, callback, equal, parameters, resource


class Memory:
    """The tokens and the client that the program stores."""

    def __init__(self, client=None):
        self.client, self.tokens = client, None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Person:
    """The person at the consent page. With scopes, only these are ticked. change changes the redirect parameters."""

    def __init__(self, decision="allow", scopes=(), **change):
        self.decision, self.scopes, self.change, self.asked, self.back = decision, scopes, change, None, None

    async def open(self, address):
        self.asked = parameters(address)
        equal("resource", self.asked["resource"], resource)
        equal("code_challenge_method", self.asked["code_challenge_method"], "S256")
        back = browser(self.decision, address, *self.scopes)
        equal("where the browser ends", back.split("?")[0], callback)
        self.back = {**parameters(back), **self.change}

    async def answer(self):
        return AuthorizationCodeResult(code=self.back.get("code", ""), state=self.back["state"], iss=self.back["iss"])


def provider(memory, person, document=None):
    about = OAuthClientMetadata(client_name="Fristenkalender", redirect_uris=[callback])
    return OAuthClientProvider(resource, about, memory, person.open, person.answer, client_metadata_url=document)
