/**
 * Tools that create, copy, move and delete files and folders. A file is done when the tool returns; a folder is the work of a
 * job.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { needs } from '../../../auth/needs.ts'
import { formatPath, nameOf, parentOf, parseNewPath } from '../../../auth/path.ts'
import { AppError } from '../../../errors.ts'
import type { ConflictBehavior, UploadInput } from '../../../services/files/index.ts'
import type { ApprovalRule, ToolContext } from '../approval.ts'
import { conflict, defineTool, hints, path, providerId, startedJob, toStartedJob } from '../tool.ts'

export const writeFile = defineTool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Stores a whole file, of up to about 700 KB. Missing folders are created. Send larger files to the REST endpoint /api/upload/proxy.',
  annotations: hints.changes,
  needs: needs.create,
  audit: 'UPLOAD',
  approval: {
    kind: 'OVERWRITE',
    at: ({ providerId, path, conflict, ifMatch }) =>
      conflict === 'REPLACE' || ifMatch !== undefined ? { providerId, path } : null,
    asNew(input) {
      if (input.ifMatch === undefined) return { ...input, conflict: 'FAIL' as const }
      throw new AppError('PRECONDITION_FAILED', 'There is no file with this etag.')
    },
  },
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

export const deleteEntry = defineTool({
  name: 'delete',
  title: 'Delete',
  description:
    'Moves a file to the trash, or a folder with `recursive` and everything in it, by a job. Deletes them for good if the storage has no trash or with `permanent`. Ask the person before you call this.',
  annotations: hints.removes,
  needs: needs.delete,
  audit: 'DELETE',
  approval: {
    kind: 'DELETION',
    at: ({ providerId, path, confirm }) => (confirm === path ? { providerId, path } : null),
  },
  input: z.strictObject({
    providerId,
    path,
    confirm: z.string().describe('The same path again, which confirms the deletion'),
    recursive: z.boolean().default(false).describe('Whether to delete a folder that is not empty'),
    permanent: z.boolean().default(false).describe('Whether to delete it for good at once'),
  }),
  output: z.object({
    deletedPath: z.string().nullable().describe('Null while a job works'),
    job: startedJob,
  }),
  async run({ confirm, recursive, permanent, ...location }, { services, viewer, signal }) {
    if (confirm !== location.path) {
      throw new AppError('INVALID_INPUT', '"confirm" must be the same as "path": nothing was deleted.')
    }
    const isTree = recursive && (await services.files.stat(viewer, location, signal)).kind === 'directory'
    if (!isTree) {
      const { path } = await services.files.delete(viewer, location, { recursive: false, permanent }, signal)
      return { deletedPath: path, job: null }
    }
    const options = { conflict: 'FAIL', deleteExtra: false, dryRun: false, permanent } as const
    const job = await services.jobs.create(viewer, { kind: 'DELETE', sources: [location], ...options })
    return { deletedPath: null, job: toStartedJob(job) }
  },
})

/** The arguments of copy and move. */
const input = z.strictObject({
  providerId,
  path,
  toProviderId: z.string().optional().describe('Default: the same provider'),
  toPath: z.string().describe('The new path, including the name. Missing folders are created'),
  conflict: conflict.default('FAIL'),
})

const replacing: ApprovalRule<z.infer<typeof input>> = {
  kind: 'OVERWRITE',
  at: ({ providerId, toProviderId = providerId, toPath, conflict }) =>
    conflict === 'REPLACE' ? { providerId: toProviderId, path: toPath } : null,
  asNew: input => ({ ...input, conflict: 'FAIL' }),
}

const output = z.object({
  path: z.string().nullable().describe('The new path; null while a job works'),
  job: startedJob,
})

const jobs = 'A folder that keeps its name is the work of a job, whose ID is returned: see get_job.'
const folders = `${jobs} With REPLACE, it replaces only an empty folder, without a job.`

export const copy = defineTool({
  name: 'copy',
  title: 'Copy',
  description: `Copies a file or folder. ${folders}`,
  annotations: hints.changes,
  needs: needs.copy,
  audit: 'COPY',
  approval: replacing,
  input,
  output,
  run: (input, context) => transfer('COPY', input, context),
})

export const move = defineTool({
  name: 'move',
  title: 'Move or rename',
  description: `Moves or renames a file or folder. ${folders}`,
  annotations: hints.changes,
  needs: needs.move,
  audit: 'MOVE',
  approval: replacing,
  input,
  output,
  run: (input, context) => transfer('MOVE', input, context),
})

interface ToolTransfer {
  providerId: string
  path: string
  toProviderId?: string | undefined
  toPath: string
  conflict: ConflictBehavior
}

async function transfer(
  kind: 'COPY' | 'MOVE',
  input: ToolTransfer,
  { services, viewer, signal }: ToolContext,
): Promise<z.infer<typeof output>> {
  const { providerId, path, toProviderId = providerId, conflict } = input
  const source = { providerId, path }
  const entry = await services.files.stat(viewer, source, signal)
  const to = parseNewPath(input.toPath)
  const isSame = toProviderId === entry.providerId && to === entry.path
  // A job puts its sources into a folder under their own names. With REPLACE, it would add to an existing folder.
  if (entry.kind === 'directory' && nameOf(to) === entry.name && !isSame && conflict !== 'REPLACE') {
    const target = { providerId: toProviderId, path: formatPath(parentOf(to)) }
    const work = { kind, sources: [source], target, conflict, deleteExtra: false, dryRun: false, permanent: false }
    return { path: null, job: toStartedJob(await services.jobs.create(viewer, work)) }
  }
  const work = kind === 'COPY' ? services.files.copy : services.files.move
  const transferred = await work(viewer, input, signal)
  return { path: formatPath(transferred.path), job: null }
}
