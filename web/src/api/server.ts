/** Makes clients without the page, so that workers can use them. */
import { Stowage, type StowageOptions } from '../../../packages/client/src/index.ts'

export { StowageError } from '../../../packages/client/src/index.ts'

/** Returns a client with the session of this browser. The server accepts its cookie only together with the header: see src/endpoints/console/index.ts. */
export function sessionClient(options: Pick<StowageOptions, 'url' | 'shouldRetry'>): Stowage {
  return new Stowage({ ...options, headers: { 'X-Stowage-Console': '1' }, sendCookies: true })
}
