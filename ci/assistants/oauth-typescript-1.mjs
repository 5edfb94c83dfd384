// The MCP SDK for TypeScript, version 1, with OAuth. When a call is refused, the SDK refreshes its token in
// vain and gives up. The program then drops its tokens and requests all scopes that it needs.
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { consent } from './consent.mjs'
import { equal, resource } from './helpers.mjs'

await consent({
  Client,
  Transport: StreamableHTTPClientTransport,
  finish: (transport, back) => transport.finishAuth(back.searchParams.get('code')),
  askForMore: async ({ provider }, error, scope) => {
    equal('the error of the SDK', error.code, 403)
    provider.invalidateCredentials('tokens')
    equal('the step', await auth(provider, { serverUrl: resource, scope }), 'REDIRECT')
  },
})
