// The OAuth client of the MCP SDK for TypeScript, version 1. The program sends its secret in the form of
// a token request. The SDK leaves the checks of state, iss and error to the application.
import { auth, extractWWWAuthenticateParams, refreshAuthorization } from '@modelcontextprotocol/sdk/client/auth.js'
import { browser, challenged, different, equal, fails, issuer, proposed, refused, resource, works } from './helpers.mjs'
import { Provider } from './provider.mjs'

const provider = new Provider('client_secret_post')
const { kept } = provider
const { resourceMetadataUrl } = extractWWWAuthenticateParams(await challenged())
const authorize = authorizationCode => auth(provider, { serverUrl: resource, resourceMetadataUrl, authorizationCode })

equal('the first step', await authorize(), 'REDIRECT')
equal('the server', kept.discovery.authorizationServerMetadata.issuer, issuer)
equal('resource', kept.address.searchParams.get('resource'), resource)
const { client_id, client_secret, token_endpoint_auth_method } = kept.client
equal('how the client proves itself', token_endpoint_auth_method, 'client_secret_post')
const denied = browser('deny', kept.address).searchParams
equal('the error of a denied request', denied.get('error'), 'access_denied')

const back = browser('allow', kept.address).searchParams
equal('state', back.get('state'), kept.state)
equal('iss', back.get('iss'), issuer)
equal('the last step', await authorize(back.get('code')), 'AUTHORIZED')
const tokens = kept.tokens
equal('scope', tokens.scope, proposed)
await works(tokens.access_token, client_id, proposed)

// With a refresh token, the SDK needs no consent.
equal('the step an hour later', await authorize(), 'AUTHORIZED')
const fresh = kept.tokens
different(tokens, fresh)
await works(tokens.access_token, client_id, proposed)
await works(fresh.access_token, client_id, proposed)

const metadata = kept.discovery.authorizationServerMetadata
const clientInformation = { ...kept.client, client_secret: 'wrong' }
const refreshToken = fresh.refresh_token
const refresh = () => refreshAuthorization(issuer, { metadata, clientInformation, refreshToken, resource: new URL(resource) })
await fails('a wrong secret', refresh, 'invalid_client')

// The SDK has no function for revocation, so the test revokes the grant. Then the program asks the person again.
const end = new URLSearchParams({ token: fresh.refresh_token, client_id, client_secret })
equal('the revocation', (await fetch(metadata.revocation_endpoint, { method: 'POST', body: end })).status, 200)
await refused(tokens.access_token)
await refused(fresh.access_token)
equal('the step after the end', await authorize(), 'REDIRECT')
equal('the tokens after the end', kept.tokens, undefined)
