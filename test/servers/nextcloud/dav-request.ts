import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { DavError, refused } from './errors.ts'
import { type Content, hashOf } from './files.ts'

/** The path at which the server is installed. */
export const top = '/cloud/remote.php/dav/'

export interface Address {
  kind: 'files' | 'uploads'
  user: string
  /** Decoded, below `files/<user>` or `uploads/<user>`. */
  names: readonly string[]
}

export interface DavRequest {
  method: string
  headers: IncomingHttpHeaders
  address: Address
  body: Content
  /** The address of a file in the header `Destination`. */
  destination: readonly string[] | undefined
  response: ServerResponse
}

/** Parses a URL or a path. The server stores names in NFC (OC_Util::normalizeUnicode). @throws NotFound */
export function parseAddress(url: string): Address {
  const { pathname } = new URL(url, 'http://localhost')
  if (!pathname.startsWith(top)) throw new DavError(404, null, 'Not found')
  const path = decodeURIComponent(pathname.slice(top.length)).normalize('NFC')
  const [kind, user = '', ...names] = path.split('/').filter(name => name !== '')
  if (kind === 'files' || kind === 'uploads') return { kind, user, names }
  throw refused('NotFound', `File with name ${kind} could not be located`)
}

export function hrefOf({ kind, user, names }: Address): string {
  return `${top}${[kind, user, ...names].map(encodeURIComponent).join('/')}`
}

export function sendEmpty({ response }: DavRequest, isNew: boolean, headers: Record<string, string> = {}): void {
  response.writeHead(isNew ? 201 : 204, headers).end()
}

/** Returns the hash that the header `X-Hash` asks for. ownCloud does not know it. */
export function hashHeaders({ headers, body }: DavRequest, isOwnCloud: boolean): Record<string, string> {
  if (isOwnCloud || headers['x-hash'] !== 'sha1') return {}
  return { 'x-hash-sha1': hashOf(body, 'sha1') }
}
