import type { IncomingHttpHeaders } from 'node:http'
import type { Viewer } from '../../auth/viewer.ts'
import type { AppError } from '../../errors.ts'
import type { Services } from '../../services/index.ts'

/** The facts that a tool uses, besides its arguments. */
export interface ToolContext {
  readonly services: Services
  readonly viewer: Viewer
  /** Aborts when the client disconnects, which is how a client cancels a call. */
  readonly signal: AbortSignal
}

/** One HTTP request of a client. */
export interface McpCall extends ToolContext {
  readonly requestId: string
  readonly headers: IncomingHttpHeaders
  /** The error of a credential that has ended since the request was authenticated. It becomes the response. */
  lostCredential: AppError | null
  /** Logs the failure of a tool. */
  report(error: AppError): void
  /** Logs a failure that is not that of a tool. */
  reportFault(error: Error): void
}
