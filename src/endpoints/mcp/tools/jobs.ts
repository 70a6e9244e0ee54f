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
  description:
    'Lists the schedules that keep copies of a folder in other storages, with what their latest check has found. get_job explains a check.',
  annotations: hints.reads,
  needs: [],
  showsData: true,
  input: z.strictObject({
    first: z.int().min(1).max(maxSchedulesPage).default(50),
    after: z.string().optional().describe('The nextCursor of the page before'),
  }),
  output: z.object({
    schedules: z.array(
      z.object({
        name: z.string(),
        nextRunAt: z.string().nullable().describe('Null if the schedule is disabled'),
        lastJobId: z.string().nullable(),
        lastState: z.string().nullable(),
        checkedAt: z.string().nullable().describe('Null before the end of the first check'),
        folders: z
          .array(
            z.object({
              providerId: z.string(),
              path: z.string(),
              damaged: z.number(),
              missing: z.number(),
              changed: z.number().describe('Files of a copy that somebody has changed there'),
              restored: z.number(),
            }),
          )
          .describe('The folder, and then its copies'),
      }),
    ),
    nextCursor: z.string().nullable().describe('Null on the last page. A page can be empty'),
  }),
  async run(page, { services, viewer }) {
    const { items, hasNext, endCursor } = await services.schedules.list(viewer, page)
    const kept = items.map(({ schedule }) => schedule).filter(({ job }) => job.kind === 'KEEP_COPIES')
    return {
      schedules: kept.map(({ name, nextRunAt, lastJob, job: { sources } }) => ({
        name,
        nextRunAt: nextRunAt?.toISOString() ?? null,
        lastJobId: lastJob?.id ?? null,
        lastState: lastJob?.state ?? null,
        checkedAt: lastJob?.endedAt?.toISOString() ?? null,
        folders: toChecks({ sources, checks: lastJob?.checks ?? null }).map(
          ({ providerId, path, damaged, missing, changed, restored }) => ({
            providerId,
            path,
            damaged,
            missing,
            changed,
            restored,
          }),
        ),
      })),
      nextCursor: hasNext ? endCursor : null,
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
