/** Headers that clients of ownCloud and Nextcloud send and expect, rclone among them. */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import type { Digests } from '../../services/files/index.ts'
import { headerText } from './headers.ts'

const lengths = new Map([
  ['MD5', { algorithm: 'md5', length: 32 }],
  ['SHA1', { algorithm: 'sha1', length: 40 }],
  ['SHA256', { algorithm: 'sha256', length: 64 }],
] as const)

/** Parses `OC-Checksum: SHA1:<hex>`. Unknown algorithms are ignored. @throws INVALID_INPUT */
export function parseOcChecksum(headers: IncomingHttpHeaders): Digests {
  const text = headerText(headers, 'oc-checksum')
  if (text === undefined) return {}
  const [, name = '', hex = ''] = /^([A-Za-z0-9]+):([0-9A-Fa-f]+)$/.exec(text.trim()) ?? []
  const known = lengths.get(name.toUpperCase() as 'MD5')
  if (name !== '' && !known) return {}
  if (hex.length !== known?.length) {
    throw new AppError('INVALID_INPUT', 'The OC-Checksum header must be "SHA1:", "MD5:" or "SHA256:" and hex digits.')
  }
  return { [known.algorithm]: Buffer.from(hex, 'hex') }
}

export function formatOcChecksum({ sha1, md5 }: { sha1?: string; md5?: string }): Record<string, string> {
  if (sha1 !== undefined) return { 'OC-Checksum': `SHA1:${sha1}` }
  return md5 === undefined ? {} : { 'OC-Checksum': `MD5:${md5}` }
}

/** Parses `X-OC-Mtime`, in seconds since 1970. @throws INVALID_INPUT */
export function parseOcMtime(headers: IncomingHttpHeaders): Date | undefined {
  const text = headerText(headers, 'x-oc-mtime')?.trim()
  if (text === undefined) return undefined
  if (!/^\d{1,11}(?:\.\d{1,9})?$/.test(text)) {
    throw new AppError('INVALID_INPUT', 'The X-OC-Mtime header must be the seconds since 1970.')
  }
  return new Date(Math.round(Number(text) * 1000))
}
