// A web application with a client secret and the library oauth4webapi. It sends the secret in the header, and then in
// the form.
import * as oauth from 'oauth4webapi'
import { browser, check, different, equal, fails, issuer, metadataAddress, refused, resource, service, works } from './helpers.mjs'

const http = { [oauth.allowInsecureRequests]: true } // the demo has no certificate
const redirect = 'https://app.example/callback'
const scopes = 'contacts:read contacts:write'

const metadata = await oauth.processResourceDiscoveryResponse(new URL(resource), await fetch(await metadataAddress()))
equal('authorization_servers', metadata.authorization_servers.join(), issuer)
const at = new URL(metadata.authorization_servers[0])
const server = await oauth.processDiscoveryResponse(at, await oauth.discoveryRequest(at, { algorithm: 'oauth2', ...http }))
check('the server announces iss', server.authorization_response_iss_parameter_supported)

let foreign // a token of another client
for (const [method, proof] of [
  ['client_secret_basic', oauth.ClientSecretBasic],
  ['client_secret_post', oauth.ClientSecretPost],
]) {
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      server,
      { client_name: 'Fristenkalender', redirect_uris: [redirect], token_endpoint_auth_method: method, application_type: 'web' },
      http,
    ),
  )
  equal('token_endpoint_auth_method', client.token_endpoint_auth_method, method)
  const secret = proof(client.client_secret)

  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const request = new URL(server.authorization_endpoint)
  request.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirect,
    scope: scopes,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
  })

  await fails('a denied request', () => oauth.validateAuthResponse(server, client, browser('deny', request), state), 'access_denied')

  const back = browser('allow', request)
  check(`the browser ends at ${redirect}, got ${back.origin}`, back.href.startsWith(redirect + '?'))
  const forged = new URL(back)
  forged.searchParams.set('iss', 'https://evil.example')
  await fails('the answer of another server', () => oauth.validateAuthResponse(server, client, forged, state))
  await fails('the answer to another request', () => oauth.validateAuthResponse(server, client, back, 'another'))
  const answer = oauth.validateAuthResponse(server, client, back, state)
  const exchange = async (by, code) =>
    oauth.processAuthorizationCodeResponse(
      server,
      client,
      await oauth.authorizationCodeGrantRequest(server, client, by, answer, redirect, code, { additionalParameters: { resource }, ...http }),
    )
  await failsToProve(() => exchange(proof('wrong'), verifier))
  await fails('a wrong verifier', () => exchange(secret, oauth.generateRandomCodeVerifier()), 'invalid_grant')
  const tokens = await exchange(secret, verifier)
  equal('token_type', tokens.token_type, 'bearer')
  equal('expires_in', tokens.expires_in, 3600)
  equal('scope', tokens.scope, scopes)
  const me = await works(tokens.access_token, client.client_id, scopes)

  const introspect = async token => oauth.processIntrospectionResponse(server, client, await oauth.introspectionRequest(server, client, secret, token, http))
  const about = await introspect(tokens.access_token)
  equal('active', about.active, true)
  equal('client_id', about.client_id, client.client_id)
  equal('scope', about.scope, scopes)
  equal('sub', about.sub, me.principalId)
  equal('aud', about.aud, resource)
  equal('iss', about.iss, issuer)
  equal('the lifetime', about.exp - about.iat, 3600)
  if (foreign) equal('what is known of a token of another client', JSON.stringify(await introspect(foreign)), '{"active":false}')
  foreign = tokens.access_token

  const refresh = async (token, more) =>
    oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(server, client, secret, token, { additionalParameters: { resource, ...more }, ...http }),
    )
  const fresh = await refresh(tokens.refresh_token, { scope: 'contacts:read' })
  different(tokens, fresh)
  equal('the narrower scope', fresh.scope, 'contacts:read')
  await works(fresh.access_token, client.client_id, 'contacts:read')
  await works(tokens.access_token, client.client_id, scopes) // a refresh does not end it
  const lost = await refresh(fresh.refresh_token)
  const again = await refresh(fresh.refresh_token) // the answer was lost
  equal('the refresh token of a repeated request', again.refresh_token, lost.refresh_token)
  equal('the scope after the narrower one', again.scope, scopes)

  const revoke = async token => oauth.processRevocationResponse(await oauth.revocationRequest(server, client, secret, token, http))
  await revoke(tokens.access_token)
  await refused(tokens.access_token)
  await works(again.access_token, client.client_id, scopes)
  await revoke(again.refresh_token)
  await refused(again.access_token)
  equal('active after the end', (await introspect(again.access_token)).active, false)
  await fails('an ended grant', () => refresh(again.refresh_token), 'invalid_grant')

  // The library reads the challenge in the 401.
  const refusal = await fails('a call with a dead token', () =>
    oauth.protectedResourceRequest(again.access_token, 'GET', new URL(resource + '/me'), undefined, undefined, http),
  )
  const { scheme, parameters } = refusal.cause[0]
  equal('the challenge', `${scheme} ${parameters.error} ${parameters.resource_metadata}`, `bearer invalid_token ${await metadataAddress()}`)
}

const client = { client_id: service.id }
for (const proof of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
  const request = async by =>
    oauth.processClientCredentialsResponse(
      server,
      client,
      await oauth.clientCredentialsGrantRequest(server, client, by, { scope: 'contacts:read', resource }, http),
    )
  const tokens = await request(proof(service.secret))
  equal('the refresh token of a service account', tokens.refresh_token, undefined)
  const me = await works(tokens.access_token, service.id, 'contacts:read')
  equal('principalId', me.principalId, service.account)
  await failsToProve(() => request(proof('wrong')))
}

// failsToProve checks that a wrong secret is refused. If the secret is in the header, the response has a
// challenge, and the library leaves the body to the caller.
async function failsToProve(attempt) {
  const error = await fails('a wrong secret', attempt)
  let code = error.error
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    equal('the challenge', `${error.status} ${error.cause[0].scheme}`, '401 basic')
    code = (await error.response.json()).error
  }
  if (code !== 'invalid_client') throw new Error(`a wrong secret: expected invalid_client, got ${code}`, { cause: error })
}
