import { z } from 'zod'
import { needs } from '../../auth/needs.ts'
import { AppError } from '../../errors.ts'
import { path, providerId, startedJob, toStartedJob } from '../schemas.ts'
import { defineTool, hints } from '../tool.ts'

export const deleteEntry = defineTool({
  name: 'delete',
  title: 'Delete',
  description:
    'Permanently deletes a file, or a folder with `recursive` and everything in it, by a job. Ask the person before you call this.',
  annotations: hints.removes,
  needs: needs.delete,
  audit: 'DELETE',
  input: z.strictObject({
    providerId,
    path,
    confirm: z.string().describe('The same path again, which confirms the deletion'),
    recursive: z.boolean().default(false).describe('Whether to delete a folder that is not empty'),
  }),
  output: z.object({
    deletedPath: z.string().nullable().describe('Null while a job works'),
    job: startedJob,
  }),
  async run({ confirm, recursive, ...location }, { services, viewer, signal }) {
    if (confirm !== location.path) {
      throw new AppError('INVALID_INPUT', '"confirm" must be the same as "path": nothing was deleted.')
    }
    const isTree = recursive && (await services.files.stat(viewer, location, signal)).kind === 'directory'
    if (!isTree) {
      return { deletedPath: await services.files.delete(viewer, location, { recursive: false }, signal), job: null }
    }
    const work = { kind: 'DELETE', sources: [location], conflict: 'FAIL', deleteExtra: false, dryRun: false } as const
    return { deletedPath: null, job: toStartedJob(await services.jobs.create(viewer, work)) }
  },
})
