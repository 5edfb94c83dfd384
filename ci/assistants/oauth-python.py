"""The MCP SDK for Python with OAuth: the story of consent.mjs. It asks the person within the call that needs it."""

import asyncio
import contextlib
import os
import time

import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from helpers import check, equal, is_me, issuer, refused, resource
from provider import Memory, Person, provider


class Assistant:
    def __init__(self, document):
        self.document, self.memory, self.auth, self.refusals = document, Memory(), None, []

    async def note(self, answer):
        if answer.status_code in (401, 403):
            self.refusals.append(answer)

    @contextlib.asynccontextmanager
    async def connected(self, person):
        self.auth = provider(self.memory, person, self.document)
        async with httpx2.AsyncClient(auth=self.auth, event_hooks={"response": [self.note]}, timeout=30) as http:
            async with streamable_http_client(resource, http_client=http) as streams, ClientSession(*streams[:2]) as session:
                await session.initialize()
                yield session

    async def call(self, session, name, **arguments):
        result = await session.call_tool(name, arguments)
        check(f"a result, got {result}", not result.is_error)
        return result.structured_content

    async def is_me(self, session, scopes):
        is_me(await self.call(session, "me_get"), self.memory.client.client_id, scopes)

    async def begins(self):
        person = Person(scopes=["contacts:read"])
        async with self.connected(person) as session:
            client = self.memory.client.client_id
            check(f"a client, got {client}", client == self.document if self.document else client.startswith("cli_"))
            tools = {t.name for t in (await session.list_tools()).tools}
            check("the tools of a reader", "contacts_list" in tools and "tasks_create" not in tools)
            await self.is_me(session, "contacts:read")
            equal("the number of contacts", len((await self.call(session, "contacts_list", limit=1))["data"]), 1)

            # The SDK requests more scopes by itself, together with the earlier ones.
            person.scopes, person.asked = ["contacts:read", "tasks:write"], None
            equal("the task", (await self.call(session, "tasks_create", title="Call back"))["title"], "Call back")
            equal("the number of scopes that the person is asked for", len(person.asked["scope"].split()), 10)
            equal("the answers", [a.status_code for a in self.refusals], [401, 403])
            challenge = self.refusals[1].headers["WWW-Authenticate"]
            check(f"a challenge for the scope, got {challenge}", 'error="insufficient_scope", scope="contacts:read tasks:write"' in challenge)
            await self.is_me(session, "contacts:read tasks:write")

            # An hour later, the SDK refreshes the token before the call.
            before, person.asked = self.memory.tokens, None
            self.auth.context.token_expiry_time = time.time() - 1
            await self.is_me(session, "contacts:read tasks:write")
        fresh = self.memory.tokens
        check("new tokens", fresh.access_token != before.access_token and fresh.refresh_token != before.refresh_token)
        check("nobody is asked at a refresh", person.asked is None)

    async def ends(self):
        dead, client = self.memory.tokens, self.memory.client
        about = {"token": dead.refresh_token, "client_id": client.client_id}
        async with httpx2.AsyncClient(timeout=30) as http:
            secret = (client.client_id, client.client_secret) if client.client_secret else None
            answer = await http.post(issuer + "/oauth/revoke", data=about, auth=secret)
        equal("the revocation", answer.status_code, 200)
        refused(dead.access_token)
        person = Person(scopes=["contacts:read"])
        async with self.connected(person) as session:
            await self.is_me(session, "contacts:read")
        check("the person is asked again", person.asked)


async def main():
    for document in (None, os.environ["KARTEI_DOCUMENT"]):
        assistant = Assistant(document)
        await assistant.begins()
        await assistant.ends()


asyncio.run(main())
