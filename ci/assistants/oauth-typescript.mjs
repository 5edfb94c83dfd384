// The MCP SDK for TypeScript, version 2, with OAuth and both revisions of the protocol. It requests more scopes by itself when a call is refused.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { consent } from './consent.mjs'
import { check } from './helpers.mjs'

for (const options of [{}, { versionNegotiation: { mode: 'auto' } }]) {
  await consent({
    Client,
    options,
    Transport: StreamableHTTPClientTransport,
    finish: (transport, back) => transport.finishAuth(back.searchParams),
    askForMore: async (_, error) => check(`the person is asked, got ${error}`, error instanceof UnauthorizedError),
  })
}
