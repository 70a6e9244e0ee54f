/** Makes clients without the page, so that workers can use them. */
import { Stowage, type StowageOptions } from '../../../packages/client/src/index.ts'

export { StowageError } from '../../../packages/client/src/index.ts'

/** The server accepts the cookie of the session only together with this header: see src/endpoints/console/index.ts. */
export const sessionHeader = { 'X-Stowage-Console': '1' }

/** Returns a client with the session of this browser. */
export function sessionClient(options: Pick<StowageOptions, 'url' | 'shouldRetry'>): Stowage {
  return new Stowage({ ...options, headers: sessionHeader, sendCookies: true })
}
