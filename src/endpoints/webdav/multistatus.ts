/** Multi-status responses: RFC 4918, section 13. */
import { STATUS_CODES } from 'node:http'
import { escapeXml, xmlDeclaration } from '../../http/xml/write.ts'

export const multistatusStart = `${xmlDeclaration}<D:multistatus xmlns:D="DAV:" xmlns:oc="http://owncloud.org/ns">\n`
export const multistatusEnd = '</D:multistatus>\n'

export interface Propstat {
  status: number
  /** XML elements. */
  properties: string
  /** XML about the precondition that failed. */
  error?: string
  /** A text for people. */
  description?: string
}

export function propertyResponse(href: string, propstats: readonly Propstat[]): string {
  const parts = propstats.map(
    ({ status, properties, error = '', description = '' }) =>
      `<D:propstat><D:prop>${properties}</D:prop><D:status>HTTP/1.1 ${status} ${STATUS_CODES[status]}</D:status>${error && `<D:error>${error}</D:error>`}${description && `<D:responsedescription>${escapeXml(description)}</D:responsedescription>`}</D:propstat>`,
  )
  return `<D:response><D:href>${escapeXml(href)}</D:href>${parts.join('')}</D:response>\n`
}
