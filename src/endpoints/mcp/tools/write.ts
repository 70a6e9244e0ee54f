/** Tools that create files and folders. */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { AppError } from '../../../errors.ts'
import type { ConflictBehavior, UploadInput } from '../../../services/files/index.ts'
import { conflict, path, providerId } from '../schemas.ts'
import { defineTool, hints } from '../tool.ts'

export const writeFile = defineTool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Stores a whole file, of up to about 700 KB. Missing folders are created. Send larger files to the REST endpoint /api/upload/proxy.',
  annotations: hints.changes,
  needs: needs.create,
  audit: 'UPLOAD',
  input: z.strictObject({
    providerId,
    path,
    content: z.string(),
    encoding: z.enum(['UTF-8', 'BASE64']).default('UTF-8').describe('The encoding of `content`'),
    conflict: conflict.optional(),
    ifMatch: z.string().optional().describe('Replaces only the version with this etag'),
  }),
  output: z.object({
    path: z.string(),
    size: z.number().nullable(),
    etag: z.string().nullable(),
    modifiedAt: z.string().nullable(),
  }),
  async run({ content, encoding, conflict, ifMatch, ...location }, { services, viewer, signal }) {
    const bytes = encoding === 'BASE64' ? decodeBase64(content) : encodeText(content)
    const stored = await services.files.upload(
      viewer,
      {
        ...location,
        ...conditionOf(conflict, ifMatch),
        body: Readable.from(bytes.length > 0 ? [bytes] : []),
        size: bytes.length,
      },
      signal,
    )
    const { size, etag, modifiedAt } = stored
    return { path: formatPath(stored.path), size, etag, modifiedAt: modifiedAt?.toISOString() ?? null }
  },
})

/** @throws INVALID_INPUT */
function conditionOf(
  conflict: ConflictBehavior | undefined,
  ifMatch: string | undefined,
): Pick<UploadInput, 'conflict' | 'condition'> {
  if (ifMatch === undefined) return { conflict: conflict ?? 'FAIL' }
  if (conflict !== undefined && conflict !== 'REPLACE') {
    throw new AppError('INVALID_INPUT', '"ifMatch" requires the conflict REPLACE, or no "conflict".')
  }
  return { conflict: 'REPLACE', condition: etag => etag === ifMatch }
}

/** @throws INVALID_INPUT */
function encodeText(content: string): Buffer {
  if (!content.isWellFormed()) {
    throw new AppError('INVALID_INPUT', '"content" has half of a surrogate pair: send well-formed Unicode, or BASE64.')
  }
  return Buffer.from(content)
}

/** @throws INVALID_INPUT */
function decodeBase64(content: string): Buffer {
  const bytes = Buffer.from(content, 'base64')
  // Decoding ignores whatever is not base64.
  if (bytes.toString('base64') === content) return bytes
  throw new AppError('INVALID_INPUT', '"content" is not base64 with padding (RFC 4648, section 4).')
}

export const createFolder = defineTool({
  name: 'create_folder',
  title: 'Create a folder',
  description: 'Creates a folder and its missing parent folders.',
  annotations: hints.adds,
  needs: needs.create,
  audit: 'FOLDER_CREATE',
  input: z.strictObject({ providerId, path }),
  output: z.object({ path: z.string() }),
  async run(location, { services, viewer, signal }) {
    const folder = await services.files.createFolder(viewer, location, signal)
    return { path: formatPath(folder.path) }
  },
})
