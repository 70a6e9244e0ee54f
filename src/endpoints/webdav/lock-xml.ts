/** Locks in XML: RFC 4918, sections 14.1, 14.6 and 14.11. */
import { AppError } from '../../errors.ts'
import { childNamed, elementsOf, parseXml } from '../../http/xml/parse.ts'
import { escapeXml } from '../../http/xml/write.ts'
import type { NewLock, WebdavLock } from '../../services/webdav/locks.ts'
import { formatToken } from './headers.ts'
import { davNamespace } from './names.ts'
import { serialize } from './property-xml.ts'

/** Bytes of XML, which is repeated for each entry of a locked folder. Clients send a name or an address. */
const maxOwner = 1024
const maxElements = 200

const entryOf = (scope: string) =>
  `<D:lockentry><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>`
export const supportedLock = entryOf('exclusive') + entryOf('shared')

export function activeLock(lock: WebdavLock, href: string): string {
  const seconds = Math.max(0, Math.ceil((lock.expiresAt.getTime() - Date.now()) / 1000))
  const scope = lock.isExclusive ? 'exclusive' : 'shared'
  return `<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:${scope}/></D:lockscope><D:depth>${lock.isDeep ? 'infinity' : '0'}</D:depth>${lock.owner}<D:timeout>Second-${seconds}</D:timeout><D:locktoken><D:href>${formatToken(lock.token)}</D:href></D:locktoken><D:lockroot><D:href>${escapeXml(href)}</D:href></D:lockroot></D:activelock>`
}

/** Parses the body of a LOCK request. @throws INVALID_INPUT, TOO_LARGE */
export async function parseLockInfo(body: Uint8Array): Promise<Pick<NewLock, 'isExclusive' | 'owner'>> {
  const root = await parseXml(body, maxElements)
  const child = (name: string) => childNamed(root, davNamespace, name)
  const named = (parent: string) => elementsOf(child(parent) ?? root).map(({ name }) => name)
  const scope = named('lockscope')
  if (root.namespace !== davNamespace || root.name !== 'lockinfo' || !named('locktype').includes('write')) {
    throw new AppError('INVALID_INPUT', 'The body must be a "lockinfo" element for a write lock.')
  }
  const owner = child('owner')
  const xml = owner ? serialize(owner, maxOwner) : ''
  if (xml === null) throw new AppError('TOO_LARGE', `The owner of a lock can have at most ${maxOwner} bytes.`)
  return { isExclusive: !scope.includes('shared'), owner: xml }
}
