"""The MCP SDK for Python, with both revisions of the protocol."""

import asyncio
import json
import os

import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

demo = json.loads(os.environ["KARTEI_DEMO"])


async def main():
    headers = {"Authorization": "Bearer " + demo["keys"]["full"], "Accept-Language": "en"}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with streamable_http_client(demo["mcpUrl"], http_client=http) as streams, ClientSession(*streams[:2]) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert len(tools) == 40, tools
            found = await session.call_tool("contacts_list", {"q": "müller", "limit": 2})
            assert not found.is_error and len(found.structured_content["data"]) == 2, found
            wrong = await session.call_tool("contacts_create", {"email": "no", "nickname": "x"})
            problem = json.loads(wrong.content[1].text)
            assert wrong.is_error and {e["field"] for e in problem["errors"]} == {"email", "nickname"}, problem
            documents = (await session.list_resources()).resources
            text = await session.read_resource(documents[0].uri)
            assert text.contents[0].text, text
            prompt = await session.get_prompt("kontakt_vorbereiten", {"name": "Berger"})
            assert "Berger" in prompt.messages[0].content.text, prompt


asyncio.run(main())
