import { ShareLink } from '../../../packages/client/src/index.ts'
import { urlOf } from './base-path.ts'

export type { SharedEntry, SharedFacts } from '../../../packages/client/src/index.ts'
export { ShareLink } from '../../../packages/client/src/index.ts'

/** Returns the share link of this page. The browser keeps the proof of its password in a cookie. */
export function shareLinkOf(token: string, password?: string): ShareLink {
  const link = `${location.origin}${urlOf('/s/')}${encodeURIComponent(token)}`
  return new ShareLink({ link, sendCookies: true, ...(password !== undefined && { password }) })
}
