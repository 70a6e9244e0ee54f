import type { CallToolResult } from '@modelcontextprotocol/server'
import { type AppError, publicError, reasons, toAppError } from '../../errors.ts'
import type { McpCall } from './call.ts'
import type { McpTool } from './tool.ts'

/**
 * Calls a tool. A failure becomes a result with `isError`, which the model reads, except for a credential that has ended:
 * that becomes the response to the HTTP request.
 */
export async function callTool(tool: McpTool, args: unknown, call: McpCall): Promise<CallToolResult> {
  try {
    const output = await tool.run(args, call)
    return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output }
  } catch (thrown) {
    // Nobody reads the result, and its reason is not a failure of the server.
    call.signal.throwIfAborted()
    const error = toAppError(thrown)
    call.report(error)
    if (error.code === 'UNAUTHENTICATED') call.lostCredential = error
    const { extensions } = publicError(error, call.requestId)
    return {
      content: [{ type: 'text', text: describe(error, call.requestId) }],
      isError: true,
      _meta: { 'stowage/error': extensions },
    }
  }
}

function describe({ reason, message, retryAfterMs, status }: AppError, requestId: string): string {
  const wait = retryAfterMs === undefined ? 'later' : `after ${Math.ceil(retryAfterMs / 1000)} seconds`
  const advice = reasons[reason].retryable ? ` Try again ${wait}.` : ''
  return `${reason}: ${message}${advice}${status >= 500 ? ` (request ${requestId})` : ''}`
}
