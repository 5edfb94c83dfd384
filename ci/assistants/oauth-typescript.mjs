// The MCP SDK for TypeScript, version 2, with OAuth. It asks for more by itself when a call is refused.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { consent } from './consent.mjs'
import { check } from './helpers.mjs'

await consent({
  Client,
  Transport: StreamableHTTPClientTransport,
  finish: (transport, back) => transport.finishAuth(back.searchParams),
  askForMore: async (_, error) => check(`the person is asked, got ${error}`, error instanceof UnauthorizedError),
})
