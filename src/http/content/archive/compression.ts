import mime from 'mime'
import type { Method } from '../zip/records.ts'

/** Bytes. Compressing a smaller file gains nothing. */
const minSize = 256
const compressible =
  /^(?:text\/|(?:application|image|model|message)\/(?:[\w.-]+\+)?(?:json|xml|yaml)\b|image\/(?:bmp|tiff|x-icon)$|font\/(?:ttf|otf)$)/
const alsoCompressible = new Set([
  'application/javascript',
  'application/msword',
  'application/rtf',
  'application/sql',
  'application/toml',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/wasm',
  'application/x-httpd-php',
  'application/x-ndjson',
  'application/x-sh',
  'application/x-tar',
  'application/x-tex',
  'application/x-sqlite3',
  'audio/wav',
  'audio/x-wav',
])

/** Chooses by type, because most large files (images, video, archives, office documents) are already compressed. */
export function compressionFor(file: { name: string; mimeType: string | null; size: number | null }): Method {
  if (file.size !== null && file.size < minSize) return 'stored'
  const type = (mime.getType(file.name) ?? file.mimeType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return compressible.test(type) || alsoCompressible.has(type) ? 'deflated' : 'stored'
}
