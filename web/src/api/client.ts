import { Stowage, type StowageError } from '../../../packages/client/src/index.ts'
import { basePath } from './base-path.ts'
import { sessionClient } from './server.ts'

export { StowageError, sourcesOfJobs, type UploadOptions } from '../../../packages/client/src/index.ts'

const url = location.origin + basePath

/** The server itself has waited for a back end that does not respond, so its own errors are shown at once. */
const shouldRetry = ({ retryable, code }: StowageError, failures: number) =>
  retryable && (code === 'NETWORK' || code === 'HTTP') && failures <= 2

/** The server with the session of this browser. */
export const stowage = sessionClient({ url, shouldRetry })

/** The server without the cookie, because the server refuses every request with an ended session, signing in included. */
export const anonymous = new Stowage({ url, shouldRetry })
