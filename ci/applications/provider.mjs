// The storage of a program with one of the MCP SDKs for TypeScript. Both versions of the SDK accept it.
import { callback } from './helpers.mjs'

export class Provider {
  redirectUrl = callback
  kept = {}

  // An assistant with a client metadata document needs no registration.
  constructor(method, document) {
    this.clientMetadataUrl = document
    this.clientMetadata = {
      client_name: 'Fristenkalender',
      redirect_uris: [callback],
      token_endpoint_auth_method: method,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    }
  }

  state() {
    return (this.kept.state = crypto.randomUUID())
  }
  clientInformation() {
    return this.kept.client
  }
  saveClientInformation(client) {
    this.kept.client = client
  }
  tokens() {
    return this.kept.tokens
  }
  saveTokens(tokens) {
    this.kept.tokens = tokens
  }
  redirectToAuthorization(address) {
    this.kept.address = address
  }
  saveCodeVerifier(verifier) {
    this.kept.verifier = verifier
  }
  codeVerifier() {
    return this.kept.verifier
  }
  saveDiscoveryState(state) {
    this.kept.discovery = state
  }
  discoveryState() {
    return this.kept.discovery
  }
  invalidateCredentials(what) {
    if (what === 'tokens' || what === 'all') delete this.kept.tokens
    if (what === 'client' || what === 'all') delete this.kept.client
  }
}
