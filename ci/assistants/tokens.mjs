// Counts what an assistant has to read, in tokens of o200k.
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { check } from './helpers.mjs'
import { address, keys } from './journey.mjs'

async function ask(key, method, params = {}) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
  const answer = await fetch(address, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
  return (await answer.json()).result
}

async function tools(key) {
  const { tools } = await ask(key, 'tools/list')
  return encode(JSON.stringify(tools.map(({ outputSchema, ...read }) => read))).length
}

const page = await ask(keys.full, 'tools/call', { name: 'contacts_list', arguments: {} })
const sizes = [
  ['all tools', await tools(keys.full), 13_000],
  ['the tools of a reader', await tools(keys.read), 3_500],
  ['a page of ten contacts', encode(page.content[0].text).length, 3_000],
]
for (const [what, size, most] of sizes) {
  console.log(`${what}: ${size} tokens of at most ${most}`)
  check(`${what}: at most ${most} tokens, got ${size}`, size <= most)
}
