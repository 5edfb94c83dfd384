// What the programs in JavaScript share: the browser, the calls of the API or of the door for assistants, and how to fail.
import { execFileSync } from 'node:child_process'

// The address of the API, or of the door for assistants, is all that a program knows.
export const resource = process.env.KARTEI_RESOURCE
export const issuer = new URL(resource).origin

// A client of a service account, made by the operator.
export const service = {
  id: process.env.KARTEI_CLIENT_ID,
  secret: process.env.KARTEI_CLIENT_SECRET,
  account: process.env.KARTEI_ACCOUNT,
  scopes: process.env.KARTEI_SCOPES,
}

// A program that asks for all ten scopes gets these: the person ticks all but webhooks.
export const proposed =
  'companies:read companies:write contacts:read contacts:write documents:read documents:write tasks:read tasks:write'

export const callback = 'http://127.0.0.1:53076/callback'

export function equal(what, got, wanted) {
  if (got !== wanted) throw new Error(`${what}: expected ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`)
}

export function check(what, holds) {
  if (!holds) throw new Error(`expected: ${what}`)
}

// fails expects that something fails, with an error code of OAuth if there is one, and returns the
// error. Each library has the code at another place.
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

// browser lets the person allow or deny, and returns the address at which the browser ends.
export function browser(decision, address, ...scopes) {
  const program = new URL('browser.py', import.meta.url).pathname
  return new URL(execFileSync('python3', [program, decision, String(address), ...scopes], { encoding: 'utf8' }).trim())
}

// A call has a path of the API, and a tool for assistants.
const me = ['/me', { name: 'me_get' }]
const contacts = ['/contacts?limit=1', { name: 'contacts_list', arguments: { limit: 1 } }]

function send([path, tool], token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {}
  if (!resource.endsWith('/mcp')) return fetch(resource + path, { headers })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool })
  Object.assign(headers, { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' })
  return fetch(resource, { method: 'POST', headers, body })
}

// answered returns what a call is answered with.
async function answered(call, token) {
  const answer = await send(call, token)
  equal(call[0], answer.status, 200)
  const body = await answer.json()
  return body.result?.structuredContent ?? body
}

// challenged calls without a token, and returns the answer: its challenge names the metadata.
export async function challenged() {
  const answer = await send(me)
  equal('a call without a token', answer.status, 401)
  return answer
}

// metadataAddress reads the challenge for a library that does not.
export async function metadataAddress() {
  const challenge = (await challenged()).headers.get('WWW-Authenticate')
  const [, address] = /^Bearer .*resource_metadata="([^"]+)"/.exec(challenge) ?? []
  check(`a challenge with resource_metadata, got ${challenge}`, address)
  return address
}

// isMe expects that an answer about oneself is about an application.
export function isMe(self, client, scopes) {
  equal('authMethod', self.authMethod, 'oauth')
  equal('grant.clientId', self.grant.clientId, client)
  equal('scopes', [...self.scopes].sort().join(' '), scopes)
}

// works makes calls with a token, and returns what is said of it.
export async function works(token, client, scopes) {
  const self = await answered(me, token)
  isMe(self, client, scopes)
  equal('the number of contacts', (await answered(contacts, token)).data.length, 1)
  return self
}

// refused expects that a token is refused, with the reason.
export async function refused(token) {
  const answer = await send(me, token)
  equal('a call with a dead token', answer.status, 401)
  check('the challenge says invalid_token', answer.headers.get('WWW-Authenticate').includes('error="invalid_token"'))
}

// different expects new tokens.
export function different(before, after) {
  check('a new access token', after.access_token && after.access_token !== before.access_token)
  check('a new refresh token', after.refresh_token && after.refresh_token !== before.refresh_token)
}
