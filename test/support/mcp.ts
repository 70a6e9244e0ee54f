/** Calls the MCP endpoint without a client library. */
import type { Data } from './client.ts'

/** The present version of the protocol, and the last one before it. */
export const present = '2026-07-28'
export const earlier = '2025-11-25'

export interface McpRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: string
}

const common = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Builds a message of the present version. Each message names the version and the client. */
export function message(method: string, params: { name?: string; [name: string]: unknown } = {}): McpRequest {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': present,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = {
    ...common,
    'mcp-protocol-version': present,
    'mcp-method': method,
    ...(params.name !== undefined && { 'mcp-name': params.name }),
  }
  return post(headers, { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })
}

/** Builds a message of an earlier version. */
export function earlierMessage(method: string, params: object = {}, version = earlier): McpRequest {
  return post({ ...common, 'mcp-protocol-version': version }, { jsonrpc: '2.0', id: 1, method, params })
}

/** Builds the call of a tool. */
export function toolCall(name: string, args: object, { isEarlier = false } = {}): McpRequest {
  const params = { name, arguments: args }
  return isEarlier ? earlierMessage('tools/call', params) : message('tools/call', params)
}

function post(headers: Record<string, string>, body: object): McpRequest {
  return { method: 'POST', path: '/mcp', headers, body: JSON.stringify(body) }
}

export interface ToolOutcome {
  /** The status that a REST endpoint would have. */
  status: number
  /** The structured content of a success. */
  output: Data
  errors: { message: string; extensions: { code: string; reason: string; [fact: string]: unknown } }[]
}

const statuses: Record<string, number> = { UNAUTHENTICATED: 401, FORBIDDEN: 403, NOT_FOUND: 404, BAD_USER_INPUT: 400 }

/** Reads the response to the call of a tool. */
export function toolOutcome(status: number, text: string): ToolOutcome {
  const { errors, error, result } = JSON.parse(text)
  if (errors) return { status, output: null, errors }
  if (error) {
    const refused = { message: error.message, extensions: { code: 'PROTOCOL', reason: String(error.code) } }
    return { status: Math.max(status, 400), output: null, errors: [refused] }
  }
  if (!result.isError) return { status, output: result.structuredContent, errors: [] }
  const extensions = result._meta['stowage/error']
  const message = result.content[0].text
  return { status: statuses[extensions.code] ?? 500, output: null, errors: [{ message, extensions }] }
}
