/** Serves one request with the official library. Import this file only when there is a request. */
import {
  createMcpHandler,
  INVALID_REQUEST,
  isLegacyRequest,
  PARSE_ERROR,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { McpCall } from './call.ts'
import { createToolServer } from './server.ts'

/** The headers that the protocol defines. The library compares them with the body. */
const protocolHeaders = ['accept', 'content-type', 'mcp-method', 'mcp-name', 'mcp-protocol-version']

/**
 * Responds to a message of the present protocol version or an earlier one. Earlier versions begin with `initialize`, and
 * then need no session either.
 * @param body undefined if it is not JSON
 */
export async function serve(call: McpCall, body: unknown): Promise<Response> {
  if (body === undefined) return refusal(PARSE_ERROR, 'The body must be one JSON-RPC message in UTF-8.')
  if (Array.isArray(body)) return refusal(INVALID_REQUEST, 'Batches are not supported: send each message by itself.')
  const headers = protocolHeaders.flatMap(name => {
    const value = call.headers[name]
    return typeof value === 'string' ? [[name, value] as [string, string]] : []
  })
  const request = new Request('http://localhost/mcp', { method: 'POST', headers })
  let failure: Error | undefined
  const onerror = (error: Error) => {
    failure = error
  }
  const response = (await isLegacyRequest(request, body))
    ? await serveEarlier(call, request, body)
    : await createMcpHandler(() => createToolServer(call), { legacy: 'reject', onerror }).fetch(request, {
        parsedBody: body,
      })
  if (response.status >= 500 && !call.signal.aborted)
    call.reportFault(failure ?? new Error(`The library returned ${response.status}`))
  return response
}

/** Responds with JSON instead of an event stream, which the library would choose. */
async function serveEarlier(call: McpCall, request: Request, parsedBody: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  const server = createToolServer(call)
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, { parsedBody })
  } finally {
    await server.close()
  }
}

function refusal(code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: 400 })
}
