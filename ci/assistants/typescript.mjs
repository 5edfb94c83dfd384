// The MCP SDK for TypeScript, version 2, with both revisions of the protocol.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { check, equal } from './helpers.mjs'
import { address, journey, keys, request } from './journey.mjs'

async function connect(key, options) {
  const client = new Client({ name: 'assistant', version: '1' }, options)
  await client.connect(new StreamableHTTPClientTransport(address, request(key)))
  return client
}

for (const options of [{}, { versionNegotiation: { mode: 'auto' } }]) {
  const full = await connect(keys.full, options)
  const reader = await connect(keys.read, options)
  equal('the tools of a full key', (await full.listTools()).tools.length, 40)
  const reading = (await reader.listTools()).tools
  check('a reader has fewer tools, which all read', reading.length < 40 && reading.every((t) => t.annotations.readOnlyHint))
  const tool = (client) => (name, args) => client.callTool({ name, arguments: args })
  await journey(tool(full), tool(reader))
  const { resources } = await full.listResources()
  const { contents } = await full.readResource({ uri: resources[0].uri })
  check('the text of a document', contents[0].text.length > 0)
  equal('prompts', (await full.listPrompts()).prompts.length, 5)
  await full.close()
  await reader.close()
}
