import { parseRange, sendChunks, sendJson, slice } from '../cloud/http.ts'
import { ApiError } from './errors.ts'
import type { Files } from './files.ts'
import type { Exchange } from './http.ts'
import type { Item } from './store.ts'

/** The maximum size of an export in bytes. */
const exportLimit = 10 * 1024 * 1024

/** Serves `alt=media`: the whole file or one range (RFC 9110, section 14). */
export async function sendMedia(
  exchange: Exchange,
  item: Item,
  cutAfter: number | undefined,
  cutIsStall: boolean,
): Promise<void> {
  const { request, response } = exchange
  if (!item.content) {
    const message = 'Only files with binary content can be downloaded. Use Export with Docs Editors files.'
    throw new ApiError(403, 'fileNotDownloadable', message, { location: 'alt' })
  }
  const { chunks, size } = item.content
  const range = parseRange(request.headers.range, size)
  if (range === 'unsatisfiable') {
    sendJson(response, new ApiError(416, 'requestedRangeNotSatisfiable', 'Request range not satisfiable').body, 416, {
      'content-range': `bytes */${size}`,
    })
    return
  }
  const { start, end } = range ?? { start: 0, end: size }
  response.writeHead(range ? 206 : 200, {
    'content-type': item.mimeType,
    'content-length': String(end - start),
    ...(range && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
  })
  await sendChunks(response, slice(chunks, start, end), cutAfter, cutIsStall)
}

/** Returns an export of a document with this text. Its bytes differ each time, like those of a ZIP with times. */
export function exportedBytes(text: string, type: string, times: number): Buffer {
  return Buffer.from(`${type} export ${times}\n${text}`)
}

let exports = 0

export async function sendExport(exchange: Exchange, files: Files, item: Item, text: string): Promise<void> {
  const type = exchange.query.get('mimeType')
  files.checkExport(item, type)
  exports += 1
  const bytes = exportedBytes(text, String(type), exports)
  if (bytes.length > exportLimit) {
    throw new ApiError(403, 'exportSizeLimitExceeded', 'This file is too large to be exported.')
  }
  exchange.response.writeHead(200, { 'content-type': String(type) })
  await sendChunks(exchange.response, [bytes], undefined)
}
