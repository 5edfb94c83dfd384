// A program on the computer of a person, without a client secret, with the library openid-client.
import * as client from 'openid-client'
import { browser, callback, check, different, equal, fails, issuer, metadataAddress, refused, resource, service, works } from './helpers.mjs'

const options = { algorithm: 'oauth2', execute: [client.allowInsecureRequests] } // the demo has no certificate
const scopes = 'contacts:read documents:read'

const metadata = await (await fetch(await metadataAddress())).json()
equal('resource', metadata.resource, resource)
const server = new URL(metadata.authorization_servers[0])
const config = await client.dynamicClientRegistration(
  server,
  {
    client_name: 'Fristenkalender',
    redirect_uris: ['http://127.0.0.1/callback'], // a program finds a free port later
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    application_type: 'native',
  },
  client.None(),
  options,
)
const { client_id } = config.clientMetadata()
equal('the secret of a public client', config.clientMetadata().client_secret, undefined)
equal('issuer', config.serverMetadata().issuer, issuer)
check('the server supports PKCE', config.serverMetadata().supportsPKCE())

const begin = async () => {
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const expectedState = client.randomState()
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: scopes,
    state: expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    resource,
  })
  return { address, checks: { pkceCodeVerifier, expectedState } }
}

let { address, checks } = await begin()
await fails('a denied request', () => client.authorizationCodeGrant(config, browser('deny', address), checks, { resource }), 'access_denied')

;({ address, checks } = await begin())
const back = browser('allow', address)
const forged = new URL(back)
forged.searchParams.set('iss', 'https://evil.example')
const other = await fails('the answer of another server', () => client.authorizationCodeGrant(config, forged, checks, { resource }))
check(`an error about iss, got ${other.message} ${other.cause}`, /iss/.test(other.message + other.cause?.message))
const tokens = await client.authorizationCodeGrant(config, back, checks, { resource })
equal('scope', tokens.scope, scopes)
check(`an hour, got ${tokens.expiresIn()}`, tokens.expiresIn() > 3590 && tokens.expiresIn() <= 3600)
await works(tokens.access_token, client_id, scopes)
await fails('a code that was used', () => client.authorizationCodeGrant(config, back, checks, { resource }), 'invalid_grant')
await refused(tokens.access_token) // somebody else may have used it

;({ address, checks } = await begin())
const first = await client.authorizationCodeGrant(config, browser('allow', address, 'contacts:read'), checks, { resource })
equal('the scope that the person left', first.scope, 'contacts:read')
const fresh = await client.refreshTokenGrant(config, first.refresh_token, { resource })
different(first, fresh)
await works(first.access_token, client_id, 'contacts:read')
await works(fresh.access_token, client_id, 'contacts:read')
const answer = await client.fetchProtectedResource(config, fresh.access_token, new URL(resource + '/contacts?limit=1'), 'GET')
equal('GET /contacts by the library', answer.status, 200)
const evil = { resource: 'https://evil.example/v1' }
await fails('another resource', () => client.refreshTokenGrant(config, fresh.refresh_token, evil), 'invalid_target')

await client.tokenRevocation(config, fresh.refresh_token)
await refused(first.access_token)
await refused(fresh.access_token)
const dead = await fails('a call with a dead token', () =>
  client.fetchProtectedResource(config, fresh.access_token, new URL(resource + '/me'), 'GET'),
)
equal('the challenge for a dead token', dead.cause[0].parameters.error, 'invalid_token')
await fails('an ended grant', () => client.refreshTokenGrant(config, fresh.refresh_token), 'invalid_grant')

// These requests come from an unknown client and from a client with a wrong secret.
const unknown = new client.Configuration(config.serverMetadata(), client_id.slice(0, -4) + '0000', undefined, client.None())
client.allowInsecureRequests(unknown)
await fails('an unknown client', () => client.refreshTokenGrant(unknown, fresh.refresh_token), 'invalid_client')
const wrong = await client.discovery(server, service.id, 'wrong', undefined, options)
await fails('a wrong secret', () => client.clientCredentialsGrant(wrong), 'invalid_client')
const right = await client.discovery(server, service.id, service.secret, undefined, options)
const own = await client.clientCredentialsGrant(right, { scope: 'contacts:read', resource })
equal('principalId', (await works(own.access_token, service.id, 'contacts:read')).principalId, service.account)
