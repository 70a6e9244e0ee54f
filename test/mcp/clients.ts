/** The official clients of the protocol. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Test } from 'tap'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { earlier, present, type ToolOutcome, toolCall, toolOutcome } from '../support/mcp.ts'

export interface McpClient {
  version: string | undefined
  server: { name: string; version: string } | undefined
  instructions: string | undefined
  tools(): Promise<Data[]>
  /** Resolves with the result, whose structured content the client has compared with the schema of the tool. */
  call(name: string, args: object): Promise<Data>
}

const own = { name: 'test', version: '1' }

/** Connects the client of the present library. */
export async function connectClient(t: Test, url: string, key: string): Promise<McpClient> {
  const client = new Client(own, { versionNegotiation: { mode: { pin: present } } })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }))
  t.teardown(() => client.close())
  return {
    version: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: { ...args } }),
  }
}

/** Connects the client of the library before, which most applications contain. */
export async function connectEarlierClient(t: Test, url: string, key: string): Promise<McpClient> {
  const client = new EarlierClient(own)
  const transport = new EarlierTransport(new URL('/mcp', url), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  t.teardown(() => client.close())
  return {
    version: transport.protocolVersion,
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: { ...args } }),
  }
}

export const clients = [
  { label: 'the present client', version: present, connect: connectClient },
  { label: 'the client before', version: earlier, connect: connectEarlierClient },
] as const

export interface McpWorld {
  app: TestApp
  token: string
  providerId: string
  /** Calls a tool with a key, without a client library. Default: a key with the scope `write`. */
  tool(name: string, args: object, key?: string): Promise<ToolOutcome>
  key: string
}

/** Starts a server with a memory provider and a key. */
export async function startMcpWorld(
  t: Test,
  options: TestAppOptions = {},
  type = 'memory',
  config = {},
): Promise<McpWorld> {
  const app = await startApp(t, options)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, type, config)
  const { key } = await app.createKey(token, { name: 'writer', scopes: ['write'] })
  return {
    app,
    token,
    providerId,
    key,
    async tool(name, args, by = key) {
      const { path, ...init } = toolCall(name, args)
      const response = await app.request(path, { ...init, token: by })
      return toolOutcome(response.status, await response.text())
    },
  }
}
