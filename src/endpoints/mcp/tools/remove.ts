import { z } from 'zod'
import { needs } from '../../../auth/needs.ts'
import { AppError } from '../../../errors.ts'
import { path, providerId, startedJob, toStartedJob } from '../schemas.ts'
import { defineTool, hints } from '../tool.ts'

export const deleteEntry = defineTool({
  name: 'delete',
  title: 'Delete',
  description:
    'Moves a file to the trash, or a folder with `recursive` and everything in it, by a job. Deletes them for good if the storage has no trash or with `permanent`. Ask the person before you call this.',
  annotations: hints.removes,
  needs: needs.delete,
  audit: 'DELETE',
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
