/** The official clients and the official conformance tests connect by the URL of the endpoint alone. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { applicationOf, approveDocument, callback } from '../support/applications.ts'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'

const app = await startApp(t)
const { token } = await app.register('owner@example.org')
const providerId = await app.connectProvider(token, 'memory', {})
const client = applicationOf(app)
const endpoint = new URL('/mcp', app.url)

/** Consents as a person in the browser would, and returns the address that the browser then opens. */
async function consent(address: URL): Promise<URL> {
  const input = client.consentInput(address.search.slice(1))
  return new URL((await app.ask(approveDocument, { input }, token)).approveConnection.returnUrl)
}

/** Keeps what an application keeps, and notes where it sends the browser. */
function provider() {
  const kept: { client?: Data; tokens?: Data; verifier?: string; address?: URL; discovered?: Data } = {}
  return {
    kept,
    redirectUrl: callback,
    clientMetadata: { client_name: 'Official client', redirect_uris: [callback] },
    state: () => 'a state of the client',
    clientInformation: () => kept.client,
    saveClientInformation(information: Data) {
      kept.client = information
    },
    tokens: () => kept.tokens,
    saveTokens(tokens: Data) {
      kept.tokens = tokens
    },
    redirectToAuthorization(address: URL) {
      kept.address = address
    },
    saveCodeVerifier(verifier: string) {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier ?? '',
    saveDiscoveryState(state: Data) {
      kept.discovered = state
    },
    discoveryState: () => kept.discovered,
  }
}

const own = { name: 'test', version: '1' }

t.test('the present client connects, and refreshes its token', async t => {
  const authProvider = provider()
  const transport = new StreamableHTTPClientTransport(endpoint, { authProvider })
  await t.rejects(new Client(own).connect(transport), { message: 'Unauthorized' })
  const address = authProvider.kept.address ?? new URL(app.url)
  t.equal(address.origin + address.pathname, `${app.url}/oauth/authorize`)
  t.match(Object.fromEntries(address.searchParams), { resource: endpoint.href, code_challenge_method: 'S256' })
  await transport.finishAuth((await consent(address)).searchParams)

  const connected = new Client(own)
  await connected.connect(new StreamableHTTPClientTransport(endpoint, { authProvider }))
  t.teardown(() => connected.close())
  const call = { name: 'list_providers', arguments: {} }
  t.match(await connected.callTool(call), { structuredContent: { providers: [{ id: providerId }] } })
  const { refresh_token } = authProvider.kept.tokens
  authProvider.kept.tokens = { ...authProvider.kept.tokens, access_token: `stwo_${'0'.repeat(82)}` }
  t.match(await connected.callTool(call), { structuredContent: { providers: [{ id: providerId }] } })
  t.not(authProvider.kept.tokens.refresh_token, refresh_token, 'the client has refreshed its token')
})

atNight(t, 'the client before connects', async t => {
  const authProvider = provider()
  const transport = new EarlierTransport(endpoint, { authProvider })
  await t.rejects(new EarlierClient(own).connect(transport as never), { message: 'Unauthorized' })
  const address = await consent(authProvider.kept.address ?? new URL(app.url))
  await transport.finishAuth(address.searchParams.get('code') ?? '')
  const connected = new EarlierClient(own)
  await connected.connect(new EarlierTransport(endpoint, { authProvider }) as never)
  t.teardown(() => connected.close())
  const listed = await connected.callTool({ name: 'list_providers', arguments: {} })
  t.match(listed, { structuredContent: { providers: [{ id: providerId }] } })
})

atNight(t, 'the official conformance tests of authorization servers pass', async t => {
  const port = await freePort()
  const clientId = await client.register({ redirect_uris: [`http://127.0.0.1:${port}/callback`] })
  const program = fileURLToPath(
    new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
  )
  const args = [
    'authorization',
    '--url',
    app.url,
    '--client-id',
    clientId,
    '--resource',
    endpoint.href,
    '-p',
    `${port}`,
  ]
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (!line.startsWith(`${app.url}/oauth/authorize?`)) continue
    const response = await fetch(await consent(new URL(line)))
    await response.text()
  }
  const status = child.exitCode ?? (await new Promise(resolve => child.once('exit', resolve)))
  t.equal(status, 0, lines.join('\n'))
  t.match(lines.join('\n'), /authorization-code-grant/)
})
