/** Tools for the jobs that other tools create. */
import { z } from 'zod'
import { toChecks } from '../../../services/jobs/copies/report.ts'
import { maxSchedulesPage } from '../../../services/schedules/index.ts'
import { defineTool, hints, startedJob, toStartedJob } from '../tool.ts'

/** The maximum number of failures in a result. */
const maxFailures = 20

const input = z.strictObject({ jobId: z.string().describe('The ID of a job') })

export const getJob = defineTool({
  name: 'get_job',
  title: 'Follow a job',
  description: 'Returns the state and progress of a job, and what failed.',
  annotations: hints.reads,
  needs: [],
  showsData: true,
  input,
  output: z.object({
    id: z.string(),
    kind: z.string(),
    state: z.enum(['QUEUED', 'RUNNING', 'PAUSED', 'SUCCEEDED', 'FAILED', 'CANCELED']),
    files: z.number().describe('Files that are done'),
    bytes: z.number(),
    deleted: z.number(),
    failed: z.number(),
    totalFiles: z.number().nullable(),
    totalBytes: z.number().nullable(),
    error: z.string().nullable().describe('Why the whole job failed'),
    failures: z.array(z.object({ path: z.string(), reason: z.string(), message: z.string() })),
  }),
  async run({ jobId }, { services, viewer }) {
    const job = await services.jobs.get(viewer, jobId)
    const { files, bytes, deleted, failed, totalFiles, totalBytes } = job.progress
    const { items } = await services.jobs.failures(job, { first: maxFailures })
    return {
      id: job.id,
      kind: job.kind,
      state: job.state,
      files,
      bytes,
      deleted,
      failed,
      totalFiles,
      totalBytes,
      error: job.error && `${job.error.reason}: ${job.error.message}`,
      failures: items.map(({ failure: { path, reason, message } }) => ({ path, reason, message })),
    }
  },
})

export const listKeptCopies = defineTool({
  name: 'list_kept_copies',
  title: 'List kept copies',
  description: 'Lists schedules that keep copies, the newest first, and what the latest check found.',
  annotations: hints.reads,
  needs: [],
  showsData: true,
  input: z.strictObject({ after: z.string().optional().describe('The nextCursor of the page before') }),
  output: z.object({
    nextCursor: z.string().nullable(),
    copies: z.array(
      z.object({
        name: z.string(),
        providerId: z.string(),
        path: z.string(),
        jobId: z.string().nullable(),
        state: z.string().nullable(),
        damaged: z.number(),
        missing: z.number(),
        changed: z.number(),
        restored: z.number(),
      }),
    ),
  }),
  async run({ after }, { services, viewer }) {
    const page = { first: maxSchedulesPage, after, kind: 'KEEP_COPIES' } as const
    const { items, hasNext, endCursor } = await services.schedules.list(viewer, page)
    return {
      nextCursor: hasNext ? endCursor : null,
      copies: items.flatMap(({ schedule: { name, job, lastJob } }) => {
        const checks = toChecks({ sources: job.sources, checks: lastJob?.checks ?? null })
        const [folder] = checks
        if (!folder) return []
        const { providerId, path } = folder
        const sum = (count: 'damaged' | 'missing' | 'changed' | 'restored') =>
          checks.reduce((total, check) => total + check[count], 0)
        return {
          name,
          providerId,
          path,
          jobId: lastJob?.id ?? null,
          state: lastJob?.state ?? null,
          damaged: sum('damaged'),
          missing: sum('missing'),
          changed: sum('changed'),
          restored: sum('restored'),
        }
      }),
    }
  },
})

export const cancelJob = defineTool({
  name: 'cancel_job',
  title: 'Cancel a job',
  description: 'Cancels a job. It does not undo what the job has done.',
  annotations: hints.removes,
  needs: [],
  scope: 'write',
  audit: 'JOB_CANCEL',
  input,
  output: z.object({ job: startedJob }),
  run: async ({ jobId }, { services, viewer }) => ({ job: toStartedJob(await services.jobs.cancel(viewer, jobId)) }),
})
