// What the programs in JavaScript share: the browser, the calls of the API, and how to fail.
import { execFileSync } from 'node:child_process'

// The address of the API is all that a program knows.
export const resource = process.env.KARTEI_RESOURCE
export const issuer = new URL(resource).origin

// A client of a service account, made by the operator.
export const service = {
  id: process.env.KARTEI_CLIENT_ID,
  secret: process.env.KARTEI_CLIENT_SECRET,
  account: process.env.KARTEI_ACCOUNT,
  scopes: process.env.KARTEI_SCOPES,
}

// A program that asks for all ten scopes gets these: the consent page does not propose webhooks.
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

export async function get(path, token) {
  return fetch(resource + path, token ? { headers: { Authorization: `Bearer ${token}` } } : {})
}

// challenged calls without a token, and returns the answer: its challenge names the metadata.
export async function challenged() {
  const answer = await get('/me')
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

// works calls the API with a token, and returns what the API says of it.
export async function works(token, client, scopes) {
  const answer = await get('/me', token)
  equal('GET /me', answer.status, 200)
  const me = await answer.json()
  equal('authMethod', me.authMethod, 'oauth')
  equal('grant.clientId', me.grant.clientId, client)
  equal('scopes', [...me.scopes].sort().join(' '), scopes)
  const list = await get('/contacts?limit=1', token)
  equal('GET /contacts', list.status, 200)
  equal('the number of contacts', (await list.json()).data.length, 1)
  return me
}

// refused expects that the API refuses a token, and says why.
export async function refused(token) {
  const answer = await get('/me', token)
  equal('GET /me with a dead token', answer.status, 401)
  check('the challenge says invalid_token', answer.headers.get('WWW-Authenticate').includes('error="invalid_token"'))
}

// different expects new tokens.
export function different(before, after) {
  check('a new access token', after.access_token && after.access_token !== before.access_token)
  check('a new refresh token', after.refresh_token && after.refresh_token !== before.refresh_token)
}
