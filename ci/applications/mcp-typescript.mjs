// The OAuth client of the MCP SDK for TypeScript, version 2: a program without a secret.
import {
  auth,
  ClientCredentialsProvider,
  extractWWWAuthenticateParams,
  refreshAuthorization,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { browser, challenged, check, different, equal, fails, issuer, proposed, refused, resource, service, works } from './helpers.mjs'
import { Provider } from './provider.mjs'

const provider = new Provider('none')
const { kept } = provider
const { resourceMetadataUrl } = extractWWWAuthenticateParams(await challenged())
const authorize = () => auth(provider, { serverUrl: resource, resourceMetadataUrl })
const finish = back => new StreamableHTTPClientTransport(new URL(resource), { authProvider: provider }).finishAuth(back.searchParams)

equal('the first step', await authorize(), 'REDIRECT')
equal('the server', kept.discovery.authorizationServerMetadata.issuer, issuer)
equal('the secret of a public client', kept.client.client_secret, undefined)
equal('resource', kept.address.searchParams.get('resource'), resource)
const { client_id } = kept.client
await fails('a denied request', () => finish(browser('deny', kept.address)), 'access_denied')

equal('the first step again', await authorize(), 'REDIRECT')
equal('the client that registered', kept.client.client_id, client_id)
const back = browser('allow', kept.address)
equal('state', back.searchParams.get('state'), kept.state)
const forged = new URL(back)
forged.searchParams.set('iss', 'https://evil.example')
equal('the answer of another server', (await fails('the answer of another server', () => finish(forged))).name, 'IssuerMismatchError')
await finish(back)
const tokens = kept.tokens
equal('scope', tokens.scope, proposed)
await works(tokens.access_token, client_id, proposed)

// With a refresh token, the SDK needs no consent.
equal('the step an hour later', await authorize(), 'AUTHORIZED')
const fresh = kept.tokens
different(tokens, fresh)
await works(tokens.access_token, client_id, proposed)
await works(fresh.access_token, client_id, proposed)

// The SDK has no function for revocation, so the test revokes the grant. Then the program asks the person again.
const revocation = kept.discovery.authorizationServerMetadata.revocation_endpoint
equal('the revocation', (await fetch(revocation, { method: 'POST', body: new URLSearchParams({ token: fresh.refresh_token, client_id }) })).status, 200)
await refused(tokens.access_token)
await refused(fresh.access_token)
equal('the step after the end', await authorize(), 'REDIRECT')
equal('the tokens after the end', kept.tokens, undefined)
await finish(browser('allow', kept.address, 'contacts:read'))
await works(kept.tokens.access_token, client_id, 'contacts:read')

// These requests come from an unknown client and from a client with a wrong secret.
const metadata = kept.discovery.authorizationServerMetadata
const refreshToken = kept.tokens.refresh_token
for (const clientInformation of [{ client_id: client_id.slice(0, -4) + '0000' }, { client_id: service.id, client_secret: 'wrong' }]) {
  const refresh = () => refreshAuthorization(issuer, { metadata, clientInformation, refreshToken, resource: new URL(resource) })
  await fails('a wrong client', refresh, 'invalid_client')
}

// A program for a service account. The SDK always requests all ten scopes.
const own = new ClientCredentialsProvider({ clientId: service.id, clientSecret: service.secret, expectedIssuer: issuer })
equal('the step of a service account', await auth(own, { serverUrl: resource, resourceMetadataUrl }), 'AUTHORIZED')
const me = await works(own.tokens().access_token, service.id, service.scopes)
equal('principalId', me.principalId, service.account)
check('no refresh token of a service account', !own.tokens().refresh_token)
