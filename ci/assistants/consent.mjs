// An assistant with one of the SDKs for TypeScript, which knows only the URL of the MCP endpoint. The person
// gives consent, and then more scopes. The assistant refreshes its tokens, and they are revoked.
import { browser, check, different, equal, fails, isMe, issuer, refused, resource } from './helpers.mjs'
import { done } from './journey.mjs'
import { Provider } from './provider.mjs'

// consent runs the steps with an assistant that registers, and with one that has a client metadata document. sdk
// has the Client, its options, and the Transport. finish passes the redirect of the browser to a transport. askForMore
// makes the SDK ask the person for more scopes after a refused call.
export async function consent(sdk) {
  for (const document of [undefined, process.env.KARTEI_DOCUMENT]) {
    const assistant = new Assistant(sdk, document)
    await assistant.begins(document)
    await assistant.asksForMore()
    await assistant.refreshes()
    await assistant.ends()
    await assistant.client.close()
  }
}

class Assistant {
  constructor(sdk, document) {
    this.sdk = sdk
    this.provider = new Provider('none', document)
    this.kept = this.provider.kept
    this.renew()
  }

  // renew makes a new client and transport, as after a restart of the program.
  renew() {
    this.client = new this.sdk.Client({ name: 'assistant', version: '1' }, this.sdk.options)
    this.transport = new this.sdk.Transport(new URL(resource), { authProvider: this.provider, fetch: (...asked) => this.fetch(...asked) })
  }

  async fetch(...asked) {
    const answer = await fetch(...asked)
    if (answer.status === 401 || answer.status === 403) this.refusal = answer
    return answer
  }

  call(name, args = {}) {
    return this.client.callTool({ name, arguments: args })
  }

  // goesOn checks that the SDK has sent the person to the server, and lets the person allow.
  async goesOn(...scopes) {
    check('the person is asked', this.kept.address)
    const back = browser('allow', this.kept.address, ...scopes)
    equal('state', back.searchParams.get('state'), this.kept.state)
    equal('iss', back.searchParams.get('iss'), issuer)
    await this.sdk.finish(this.transport, back)
    delete this.kept.address
  }

  async begins(document) {
    await fails('a connection without a token', () => this.client.connect(this.transport))
    equal('the first answer', this.refusal.status, 401)
    equal('resource', this.kept.address.searchParams.get('resource'), resource)
    const id = this.kept.client.client_id
    check(`a client, got ${id}`, document ? id === document : id.startsWith('cli_'))
    await this.goesOn('contacts:read')
    this.renew()
    await this.client.connect(this.transport)
    const { tools } = await this.client.listTools()
    check('the tools of a reader', tools.some(t => t.name === 'contacts_list') && tools.every(t => t.annotations.readOnlyHint))
    isMe(done(await this.call('me_get')), id, 'contacts:read')
    check('a contact', done(await this.call('contacts_list', { limit: 1 })).data.length === 1)
  }

  async asksForMore() {
    const create = () => this.call('tasks_create', { title: 'Call back' })
    const error = await fails('a call beyond the scopes', create)
    const challenge = this.refusal.headers.get('WWW-Authenticate')
    check(`403, got ${this.refusal.status} ${challenge}`, this.refusal.status === 403 && challenge.includes('error="insufficient_scope", scope="contacts:read tasks:write"'))
    await this.sdk.askForMore(this, error, 'contacts:read tasks:write')
    equal('what the person is asked for', this.kept.address.searchParams.get('scope'), 'contacts:read tasks:write')
    await this.goesOn()
    equal('the task', done(await create()).title, 'Call back')
    isMe(done(await this.call('me_get')), this.kept.client.client_id, 'contacts:read tasks:write')
  }

  async refreshes() {
    const before = this.kept.tokens
    this.kept.tokens = { ...before, access_token: `${before.access_token}x` } // as if its hour were over
    done(await this.call('me_get'))
    different(before, this.kept.tokens)
    check('nobody is asked at a refresh', !this.kept.address)
  }

  async ends() {
    const { client_id } = this.kept.client
    const { access_token, refresh_token } = this.kept.tokens
    const body = new URLSearchParams({ client_id, token: refresh_token })
    equal('the revocation', (await fetch(this.kept.discovery.authorizationServerMetadata.revocation_endpoint, { method: 'POST', body })).status, 200)
    await refused(access_token)
    await fails('a call after the end', () => this.call('me_get'))
    equal('the tokens after the end', this.kept.tokens, undefined)
    await this.goesOn('contacts:read')
    isMe(done(await this.call('me_get')), client_id, 'contacts:read')
  }
}
