// Functions for the programs in JavaScript: the browser, calls of the API or of MCP, and checks.
import { execFileSync } from 'node:child_process'

// A program knows only the URL of the API or of the MCP endpoint.
export const resource = process.env.KARTEI_RESOURCE
export const issuer = new URL(resource).origin

// The operator has created this client for a service account.
export const service = {
  id: process.env.KARTEI_CLIENT_ID,
  secret: process.env.KARTEI_CLIENT_SECRET,
  account: process.env.KARTEI_ACCOUNT,
  scopes: process.env.KARTEI_SCOPES,
}

// A program that requests all ten scopes gets these, because the person ticks all but the scopes for webhooks.
export const proposed =
  'companies:read companies:write contacts:read contacts:write documents:read documents:write tasks:read tasks:write'

export const callback = 'http://127.0.0.1:53076/callback'

export function equal(what, got, wanted) {
  if (got !== wanted) throw new Error(`${what}: expected ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`)
}

export function check(what, holds) {
  if (!holds) throw new Error(`expected: ${what}`)
}

// fails checks that an attempt fails, with an OAuth error code if one is given, and returns the
// error. Each library has the code in another member.
export async function fails(what, attempt, code) {
  let result
  try {
    result = await attempt()
  } catch (error) {
    const got = error.error ?? error.errorCode ?? error.code
    if (code && got !== code) throw new Error(`${what}: expected ${code}, got ${got}`, { cause: error })
    return error
  }
  throw new Error(`${what}: expected an error, got ${JSON.stringify(result)}`)
}

// browser lets the person allow or deny, and returns the last URL of the browser.
export function browser(decision, address, ...scopes) {
  const program = new URL('browser.py', import.meta.url).pathname
  return new URL(execFileSync('python3', [program, decision, String(address), ...scopes], { encoding: 'utf8' }).trim())
}

// A call is a path of the API and the MCP tool that does the same.
const me = ['/me', { name: 'me_get' }]
const contacts = ['/contacts?limit=1', { name: 'contacts_list', arguments: { limit: 1 } }]

function send([path, tool], token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {}
  if (!resource.endsWith('/mcp')) return fetch(resource + path, { headers })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool })
  Object.assign(headers, { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' })
  return fetch(resource, { method: 'POST', headers, body })
}

// answered sends a call and returns the body of the response, or the result of the tool.
async function answered(call, token) {
  const answer = await send(call, token)
  equal(call[0], answer.status, 200)
  const body = await answer.json()
  return body.result?.structuredContent ?? body
}

// challenged sends a call without a token and returns the 401. Its challenge has the URL of the metadata.
export async function challenged() {
  const answer = await send(me)
  equal('a call without a token', answer.status, 401)
  return answer
}

// metadataAddress returns the URL of the metadata, for libraries that do not read the challenge.
export async function metadataAddress() {
  const challenge = (await challenged()).headers.get('WWW-Authenticate')
  const [, address] = /^Bearer .*resource_metadata="([^"]+)"/.exec(challenge) ?? []
  check(`a challenge with resource_metadata, got ${challenge}`, address)
  return address
}

// isMe checks that the response about the caller is about this application.
export function isMe(self, client, scopes) {
  equal('authMethod', self.authMethod, 'oauth')
  equal('grant.clientId', self.grant.clientId, client)
  equal('scopes', [...self.scopes].sort().join(' '), scopes)
}

// works checks that calls with a token succeed, and returns the response about the caller.
export async function works(token, client, scopes) {
  const self = await answered(me, token)
  isMe(self, client, scopes)
  equal('the number of contacts', (await answered(contacts, token)).data.length, 1)
  return self
}

// refused checks that a call with the token gets a 401 with invalid_token.
export async function refused(token) {
  const answer = await send(me, token)
  equal('a call with a dead token', answer.status, 401)
  check('the challenge says invalid_token', answer.headers.get('WWW-Authenticate').includes('error="invalid_token"'))
}

// different checks that both tokens are new.
export function different(before, after) {
  check('a new access token', after.access_token && after.access_token !== before.access_token)
  check('a new refresh token', after.refresh_token && after.refresh_token !== before.refresh_token)
}
