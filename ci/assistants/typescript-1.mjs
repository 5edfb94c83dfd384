// The MCP SDK for TypeScript, version 1.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { equal } from './helpers.mjs'
import { address, journey, keys, request } from './journey.mjs'

async function connect(key) {
  const client = new Client({ name: 'assistant', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(address, request(key)))
  return client
}

const full = await connect(keys.full)
const reader = await connect(keys.read)
equal('the tools of a full key', (await full.listTools()).tools.length, 40) // it checks results by their schemas from now on
const tool = (client) => (name, args) => client.callTool({ name, arguments: args })
await journey(tool(full), tool(reader))
await full.close()
await reader.close()
