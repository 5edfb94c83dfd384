"""The OAuth provider of the MCP SDK for Python, which signs the requests of an HTTP client. It does not
say how it wants to prove itself when it registers."""

import asyncio
import logging
import time

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

from helpers import ME, account, check, content, equal, is_me, issuer, proposed, refused, request, resource, service_id, service_secret, works
from provider import Memory, Person, provider

logging.getLogger("mcp").setLevel(logging.CRITICAL)  # the errors below are expected


async def me(auth):
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        method, address, headers, body = request(ME)
        answer = await http.request(method, address, headers=headers, content=body)
    equal("a call about oneself", answer.status_code, 200)
    return content(answer.json())


async def fails(what, kind, auth):
    try:
        await me(auth)
    except kind as error:
        return str(error)
    raise AssertionError(f"{what}: expected {kind.__name__}")


async def main():
    memory = Memory()

    # Each of these flows begins with a refused call.
    denied = Person("deny")
    await fails("a denied request", OAuthFlowError, provider(memory, denied))
    equal("the error of a denied request", denied.back["error"], "access_denied")
    equal("how the client proves itself", memory.client.token_endpoint_auth_method, "client_secret_basic")
    equal("whose client it is", memory.client.issuer, issuer)
    error = await fails("the answer of another server", OAuthFlowError, provider(memory, Person(iss="https://evil.example")))
    check(f"an error about iss, got {error}", "iss mismatch" in error)
    error = await fails("the answer to another request", OAuthFlowError, provider(memory, Person(state="another")))
    check(f"an error about state, got {error}", "State" in error)
    wrong = memory.client.model_copy(update={"client_secret": "wrong"})
    error = await fails("a wrong secret", OAuthTokenError, provider(Memory(wrong), Person()))
    check(f"an error about the client, got {error}", '"invalid_client"' in error and "(401)" in error)

    # A program with the consent of a person.
    client = memory.client.client_id
    auth = provider(memory, Person())
    is_me(await me(auth), client, proposed)
    first = memory.tokens
    equal("scope", first.scope, proposed)
    equal("expires_in", first.expires_in, 3600)
    works(first.access_token, client, proposed)

    # An hour later, the SDK refreshes the token before the call.
    auth.context.token_expiry_time = time.time() - 1
    is_me(await me(auth), client, proposed)
    fresh = memory.tokens
    check("a new access token", fresh.access_token != first.access_token)
    check("a new refresh token", fresh.refresh_token and fresh.refresh_token != first.refresh_token)
    works(first.access_token, client, proposed)
    works(fresh.access_token, client, proposed)

    # The SDK has no function for revocation, so the test revokes the grant. Then the program asks the person again,
    # with the same client.
    async with httpx2.AsyncClient(timeout=30) as http:
        answer = await http.post(issuer + "/oauth/revoke", data={"token": fresh.refresh_token}, auth=(client, memory.client.client_secret))
    equal("the revocation", answer.status_code, 200)
    refused(fresh.access_token)
    again = Person()
    is_me(await me(provider(memory, again)), client, proposed)
    check("the person was asked again", again.back)
    refused(first.access_token)

    # A program for a service account. The SDK always requests all ten scopes.
    for method in ("client_secret_basic", "client_secret_post"):
        auth = ClientCredentialsOAuthProvider(resource, Memory(), service_id, service_secret, method, issuer=issuer)
        equal("principalId", (await me(auth))["principalId"], account)


asyncio.run(main())
