/** Tools that copy and move. A file is done when the tool returns. A folder is the work of a job. */
import { z } from 'zod'
import { needs } from '../../../auth/needs.ts'
import { formatPath, nameOf, parentOf, parseNewPath } from '../../../auth/path.ts'
import type { ConflictBehavior } from '../../../services/files/index.ts'
import type { ToolContext } from '../call.ts'
import { conflict, path, providerId, startedJob, toStartedJob } from '../schemas.ts'
import { defineTool, hints } from '../tool.ts'

const input = z.strictObject({
  providerId,
  path,
  toProviderId: z.string().optional().describe('Default: the same provider'),
  toPath: z.string().describe('The new path, including the name. Missing folders are created'),
  conflict: conflict.default('FAIL'),
})

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
