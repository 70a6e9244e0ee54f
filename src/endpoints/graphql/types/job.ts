import { formatPath, parsePath } from '../../../auth/path.ts'
import type { JobFailure } from '../../../db/jobs/failures.ts'
import type { JobProgress, JobRecord } from '../../../db/jobs/jobs.ts'
import type { JobConflict, JobKind, JobState, StoredLocation } from '../../../db/schema.ts'
import { AppError } from '../../../errors.ts'
import type { JobChange } from '../../../services/jobs/feed.ts'
import {
  maxActiveJobs,
  maxCopies,
  maxJobsPage,
  maxSources,
  type NewJobInput,
  recheckDays as recheckBounds,
} from '../../../services/jobs/index.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { findCreator, JobRef, UserRef } from '../refs.ts'
import { atJob } from '../rules.ts'
import { definePage, toPage } from './page.ts'

const kindValues: Record<JobKind, { description: string }> = {
  COPY: { description: 'Copies the sources into the target folder.' },
  MOVE: { description: 'Moves the sources into the target folder. A file is deleted only after its copy is verified.' },
  DELETE: { description: 'Moves the sources to the trash, or deletes them if their provider has none.' },
  SYNC: {
    description:
      'Updates the copies of the sources in the target folder, so that they equal the sources. Writes only what differs in size, or in checksum or time.',
  },
  CHECKSUM: {
    description:
      'Reads those files of the sources whose sizes several of them have, and keeps the SHA-256 of their contents, so that `duplicates` compares contents. Changes no file, and has no target.',
  },
  VERIFY: {
    description:
      'Reads all files of the sources, and keeps the SHA-256 of their contents. A file fails with DAMAGED if it has other bytes than were written or read before, although its version is the same, and with NOT_FOUND if it is gone and was not deleted through this server. Changes no file, and has no target.',
  },
  RESTORE: {
    description:
      'Brings the sources back as they were at the time `restoreAt`, from earlier versions and from the trash. With `deleteExtra`, files that were created since go to the trash, or become versions. Has no target.',
  },
  KEEP_COPIES: {
    description: `Keeps copies of the folder that is the first source in the other sources, 1 to ${maxCopies} folders in other storages. Copies what is new or changed, reads each file again after \`recheckDays\`, and lists what is damaged, missing or changed in a copy. With \`repair\`, restores damaged and missing files from a good copy. With \`deleteExtra\`, a file that was deleted through this server goes to the trash of its copies, too. Requires the scope \`write\` at the copies, and with \`repair\` at the folder. Has no target.`,
  },
}
export const JobKindEnum = builder.enumType('JobKind', { description: 'The kind of a job.', values: kindValues })

const states: Record<JobState, { description: string }> = {
  QUEUED: { description: 'Waits for a server, or for its next turn.' },
  RUNNING: { description: 'A server works on it. If that server fails, another one continues within seconds.' },
  PAUSED: { description: 'Waits until it is resumed.' },
  SUCCEEDED: { description: 'Has ended, and everything is done.' },
  FAILED: { description: 'Has ended, and `failures` or `error` say what is not done.' },
  CANCELED: { description: 'Has ended because somebody canceled it. It does not undo what it has done.' },
}
const JobStateEnum = builder.enumType('JobState', { description: 'The state of a job.', values: states })

const conflicts: Record<JobConflict, { description: string }> = {
  FAIL: { description: 'The entry fails with the reason ALREADY_EXISTS.' },
  REPLACE: { description: 'A file replaces a file. The content of a folder is added to the existing folder.' },
  RENAME: { description: 'A source gets the next free name, such as "name (1).txt".' },
  SKIP: { description: 'The existing file stays. The content of a folder is added to the existing folder.' },
  NEWER: { description: 'A file replaces an older file. The content of a folder is added to the existing folder.' },
}
export const JobConflictEnum = builder.enumType('JobConflict', {
  description: 'The behavior of a job if a name is taken at the target. SYNC does not use it.',
  values: conflicts,
})

export const Location = builder.objectRef<StoredLocation>('Location').implement({
  description: 'A path in a provider.',
  fields: t => ({
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    path: t.string({ description: 'The path.', resolve: ({ path }) => formatPath(parsePath(path)) }),
  }),
})

const Progress = builder.objectRef<JobProgress>('JobProgress').implement({
  description: 'The progress of a job.',
  fields: t => ({
    files: t.expose('files', { type: 'SafeInt', description: 'Files that are done.' }),
    bytes: t.expose('bytes', { type: 'SafeInt', description: 'Bytes of the files that are done.' }),
    skipped: t.expose('skipped', { type: 'SafeInt', description: 'Files that did not have to be written.' }),
    deleted: t.expose('deleted', { type: 'SafeInt', description: 'Files and folders that were deleted.' }),
    failed: t.expose('failed', { type: 'SafeInt', description: 'Files and folders that failed.' }),
    totalFiles: t.expose('totalFiles', {
      type: 'SafeInt',
      nullable: true,
      description: 'All files of the sources, or null until they are counted.',
    }),
    totalBytes: t.expose('totalBytes', {
      type: 'SafeInt',
      nullable: true,
      description: 'The bytes of all files of the sources, or null until they are counted.',
    }),
    bytesPerSecond: t.exposeFloat('bytesPerSecond', {
      description: 'The average rate at which bytes passed through the server in the last seconds.',
    }),
  }),
})

const Failure = builder.objectRef<JobFailure>('JobFailure').implement({
  description: 'A file or folder that a job could not process.',
  fields: t => ({
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    path: t.exposeString('path', { description: 'The path of the source.' }),
    reason: t.exposeString('reason', { description: 'A reason from the table of errors, such as ALREADY_EXISTS.' }),
    message: t.exposeString('message', { description: 'A sentence that says what failed and what to do.' }),
  }),
})
const FailureConnection = definePage<JobFailure>('JobFailure', Failure, 'failures')

export const JobError = builder.objectRef<NonNullable<JobRecord['error']>>('JobError').implement({
  description: 'Why a whole job failed.',
  fields: t => ({
    reason: t.exposeString('reason', { description: 'A reason from the table of errors, such as KEY_REVOKED.' }),
    message: t.exposeString('message', { description: 'A sentence that says what failed and what to do.' }),
  }),
})

JobRef.implement({
  description:
    'Work on whole trees that outlives its request and the server that runs it. It has the rights of the person who created it, limited by their API key, and ends with that key.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the job.' }),
    kind: t.expose('kind', { type: JobKindEnum, description: 'The kind of the job.' }),
    state: t.expose('state', { type: JobStateEnum, description: 'The state of the job.' }),
    sources: t.expose('sources', { type: [Location], description: 'The files and folders that the job works on.' }),
    target: t.expose('target', {
      type: Location,
      nullable: true,
      description:
        'The folder that the sources go into, or null if the job has none. For a job of the mutations `copy`, `move` and `rename`: the new folder itself.',
    }),
    targetName: t.string({
      nullable: true,
      description: 'The name of the source at the target, or null if the sources keep their names.',
      resolve: ({ target }) => target?.name ?? null,
    }),
    conflict: t.expose('conflict', { type: JobConflictEnum, description: 'The behavior if a name is taken.' }),
    deleteExtra: t.exposeBoolean('deleteExtra', {
      description:
        'Whether a SYNC deletes entries that exist only at the target, and a RESTORE files that were created since the time.',
    }),
    dryRun: t.exposeBoolean('dryRun', { description: 'Whether the job only counts what it would do.' }),
    permanent: t.exposeBoolean('permanent', {
      description: 'Whether a DELETE or a SYNC deletes for good, without the trash.',
    }),
    restoreAt: t.expose('restoreAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time whose state a RESTORE brings back. Null for other kinds.',
    }),
    progress: t.expose('progress', { type: Progress, description: 'The progress of the job.' }),
    error: t.expose('error', { type: JobError, nullable: true, description: 'Why the whole job failed, or null.' }),
    createdBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'The person who created the job. Null if they are no longer a member.',
      authScopes: { credential: true },
      resolve: ({ userId }, _args, context) => findCreator(userId, context),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the job first ran, or null.',
    }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the job ended, or null.',
    }),
    failures: t.field({
      type: FailureConnection,
      description: 'Returns what failed.',
      authScopes: { credential: true },
      args: {
        first: t.arg.int({ defaultValue: 50, description: 'The maximum number of failures, 1 to 1000.' }),
        after: t.arg.string({ description: 'The cursor after which the page starts.' }),
      },
      complexity: ({ first }) => connectionCost(first, 1000),
      resolve: async (job, { first, after }, { services }) => {
        const page = await services.jobs.failures(job, { first: first ?? 50, after })
        return toPage(page, after, ({ failure }) => failure)
      },
    }),
  }),
})
const JobConnection = definePage<JobRecord>('Job', JobRef, 'jobs')

export const LocationInput = builder.inputType('LocationInput', {
  description: 'A path in a provider.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The path.' }),
  }),
})

export const CreateJobInput = builder.inputType('CreateJobInput', {
  description: 'The work of a new job.',
  fields: t => ({
    kind: t.field({ type: JobKindEnum, required: true, description: 'The kind of the job.' }),
    sources: t.field({
      type: [LocationInput],
      required: true,
      description: `The files and folders that the job works on, 1 to ${maxSources}.`,
    }),
    target: t.field({
      type: LocationInput,
      description:
        'The folder that the sources go into. If a source is the root of a provider, its content goes directly into this folder.',
    }),
    targetName: t.string({
      description: 'The name of the source at the target. Only for one source. Default: the sources keep their names.',
    }),
    conflict: t.field({
      type: JobConflictEnum,
      defaultValue: 'FAIL',
      description: 'The behavior if a name is taken at the target.',
    }),
    deleteExtra: t.boolean({
      defaultValue: false,
      description:
        'Whether a SYNC deletes entries that exist only at the target, a RESTORE files that were created since the time, and a KEEP_COPIES the copies of files that were deleted through this server.',
    }),
    restoreAt: t.field({
      type: 'DateTime',
      description: 'The time whose state comes back. Only for RESTORE, which requires it.',
    }),
    dryRun: t.boolean({ defaultValue: false, description: 'Whether the job only counts what it would do.' }),
    permanent: t.boolean({
      defaultValue: false,
      description: 'Whether a DELETE or a SYNC deletes for good, although the provider has a trash.',
    }),
    repair: t.boolean({
      description: 'Whether a KEEP_COPIES restores damaged and missing files from a good copy. Default: false.',
    }),
    recheckDays: t.int({
      description: `The days after which a KEEP_COPIES reads a file again, 0 to ${recheckBounds.max}; 0 reads all files each time. Default: ${recheckBounds.usual}.`,
    }),
  }),
})

/** Adds the defaults. @throws INVALID_INPUT for a name without a target, and for options of other kinds */
export function toNewJob(input: typeof CreateJobInput.$inferInput): NewJobInput {
  const { kind, sources, target, targetName, conflict, deleteExtra, dryRun, permanent, restoreAt } = input
  const { repair, recheckDays } = input
  const keeps = kind === 'KEEP_COPIES' || repair || recheckDays != null
  if (targetName != null && !target) throw new AppError('INVALID_INPUT', '"targetName" needs a "target".')
  return {
    kind,
    sources,
    target: target && { ...target, name: targetName },
    conflict: conflict ?? 'FAIL',
    deleteExtra: deleteExtra ?? false,
    dryRun: dryRun ?? false,
    permanent: permanent ?? false,
    restoreAt: restoreAt ?? null,
    keeping: keeps ? { repair: repair ?? false, recheckDays: recheckDays ?? recheckBounds.usual } : null,
  }
}

const CreateJobPayload = builder.objectRef<{ job: JobRecord }>('CreateJobPayload').implement({
  description: 'A new job.',
  fields: t => ({ job: t.expose('job', { type: JobRef, description: 'The job, which a server runs at once.' }) }),
})

builder.queryFields(t => ({
  job: t.field({
    type: JobRef,
    description:
      'Returns one job at locations that you may access: one that the credential created, in a session any of your own, and for administrators without restrictions a job of anybody.',
    authScopes: { scope: 'read' },
    args: { id: t.arg.id({ required: true, description: 'The ID of the job.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.jobs.get(viewer, id),
  }),
  jobs: t.field({
    type: JobConnection,
    description: 'Returns the jobs that `job` returns, newest first. Jobs stay for 30 days after their end.',
    authScopes: { scope: 'read' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of jobs, 1 to ${maxJobsPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
      state: t.arg({ type: JobStateEnum, description: 'Only jobs in this state.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxJobsPage),
    resolve: async (_root, { first, after, state }, { services, viewer }) => {
      const page = await services.jobs.list(viewer, { state }, { first: first ?? 50, after })
      return toPage(page, after, ({ job }) => job)
    },
  }),
}))

builder.subscriptionField('jobChanged', t =>
  t.field({
    type: JobRef,
    description:
      'Returns the present state of a job that `job` returns, and its new state after each change. Without `id`, returns the jobs of `jobs` that have not ended, or have ended in the last 15 minutes, and then each job that is created or changes. The progress changes about once a second.',
    authScopes: { scope: 'read' },
    args: { id: t.arg.id({ description: 'The ID of the job; null for all jobs.' }) },
    subscribe: (_root, { id }, { services, viewer, signal }) => services.jobs.follow(viewer, id ?? null, signal),
    resolve: ({ job }: JobChange) => job,
  }),
)

const jobId = { required: true, description: 'The ID of the job.' } as const

builder.mutationFields(t => ({
  createJob: t.field({
    type: CreateJobPayload,
    description: `Creates a job and returns before it ends. MOVE, DELETE and RESTORE require the scope \`write\` at the sources. You can have ${maxActiveJobs} jobs that have not ended.`,
    audit: 'JOB_CREATE',
    authScopes: atJob,
    args: { input: t.arg({ type: CreateJobInput, required: true, description: 'The work of the job.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      job: await services.jobs.create(viewer, toNewJob(input)),
    }),
  }),
  pauseJob: t.field({
    type: JobRef,
    description: 'Pauses a job within a second.',
    audit: 'JOB_PAUSE',
    authScopes: { scope: 'write' },
    args: { id: t.arg.id(jobId) },
    resolve: (_root, { id }, { services, viewer }) => services.jobs.pause(viewer, id),
  }),
  resumeJob: t.field({
    type: JobRef,
    description: 'Queues a paused job again. It continues where it stopped.',
    audit: 'JOB_RESUME',
    authScopes: { scope: 'write' },
    args: { id: t.arg.id(jobId) },
    resolve: (_root, { id }, { services, viewer }) => services.jobs.resume(viewer, id),
  }),
  cancelJob: t.field({
    type: JobRef,
    description: 'Cancels a job within a second. It does not undo what it has done.',
    audit: 'JOB_CANCEL',
    authScopes: { scope: 'write' },
    args: { id: t.arg.id(jobId) },
    resolve: (_root, { id }, { services, viewer }) => services.jobs.cancel(viewer, id),
  }),
  retryJob: t.field({
    type: JobRef,
    description: 'Starts an ended job again for its failed entries.',
    audit: 'JOB_RETRY',
    authScopes: { scope: 'write' },
    args: { id: t.arg.id(jobId) },
    resolve: (_root, { id }, { services, viewer }) => services.jobs.retry(viewer, id),
  }),
}))
