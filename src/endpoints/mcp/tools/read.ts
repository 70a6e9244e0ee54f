import { z } from 'zod'
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { AppError } from '../../../errors.ts'
import type { FileEntry } from '../../../services/files/index.ts'
import { readPart } from '../read-part.ts'
import { path, providerId } from '../schemas.ts'
import { wholeText } from '../text.ts'
import { defineTool, hints } from '../tool.ts'

/** Bytes of one result, which a model has to read. */
const maxLength = 128 * 1024
/** Bytes. Less might contain no whole character, so that reading on would never end. */
const minLength = 4

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description: `Returns a part of a file, at most ${maxLength} bytes. Text must be UTF-8. Other files are refused as text: read them as BASE64 only if you need their bytes.`,
  annotations: hints.reads,
  needs: needs.read,
  audit: 'DOWNLOAD',
  showsData: true,
  input: z.strictObject({
    providerId,
    path,
    offset: z.int().min(0).default(0).describe('The first byte'),
    length: z.int().min(minLength).max(maxLength).default(32_768).describe('Bytes'),
    encoding: z.enum(['UTF-8', 'BASE64']).default('UTF-8'),
  }),
  output: z.object({
    path: z.string(),
    size: z.number().nullable().describe('Bytes of the whole file'),
    mimeType: z.string().nullable(),
    etag: z.string().nullable().describe('Differs between parts if the file has changed'),
    offset: z.number(),
    length: z.number(),
    nextOffset: z.number().nullable().describe('Where the next part begins; null at the end'),
    encoding: z.enum(['UTF-8', 'BASE64']),
    content: z.string(),
  }),
  run: ({ offset, length, encoding, ...location }, { services, viewer, signal }) =>
    services.files.download(viewer, location, signal, { range: { offset, length } }, async (download, granted) => {
      const { entry, ended } = download
      if (entry.kind === 'directory') {
        throw new AppError('NOT_A_FILE', `"${formatPath(entry.path)}" is a folder: list it with list_folder.`)
      }
      try {
        const { bytes, isEnd } = await readPart(download, { offset, length }, granted)
        const part = encoding === 'BASE64' ? { skipped: 0, bytes } : wholeText(bytes, { isStart: offset === 0, isEnd })
        if (!part) throw notText(entry)
        const first = offset + part.skipped
        const next = first + part.bytes.length
        const content = part.bytes.toString(encoding === 'BASE64' ? 'base64' : 'utf8')
        ended(part.bytes.length)
        const { size, mimeType, etag } = entry
        return {
          path: formatPath(entry.path),
          size,
          mimeType,
          etag,
          offset: first,
          length: part.bytes.length,
          nextOffset: isEnd ? null : next,
          encoding,
          content,
        }
      } catch (error) {
        ended(0, granted.aborted ? granted.reason : error)
        throw error
      }
    }),
})

function notText({ providerId, path, size, mimeType }: FileEntry): AppError {
  const query = new URLSearchParams({ providerId, path: formatPath(path) })
  const facts = [mimeType ?? 'unknown type', ...(size === null ? [] : [`${size} bytes`])].join(', ')
  return new AppError(
    'NOT_TEXT',
    `The file is not text in UTF-8 (${facts}). Download it with the same key from the REST endpoint /api/download/proxy?${query}, or read it with the encoding BASE64.`,
  )
}
