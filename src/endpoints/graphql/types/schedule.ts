import type { ScheduledJob } from '../../../db/schema.ts'
import { maxSchedules, maxSchedulesPage, type Schedule } from '../../../services/schedules/index.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { JobRef } from '../refs.ts'
import { atScheduledJob } from '../rules.ts'
import { CreateJobInput, JobConflictEnum, JobError, JobKindEnum, Location, toNewJob } from './job.ts'
import { definePage, toPage } from './page.ts'

const ScheduledJobType = builder.objectRef<ScheduledJob>('ScheduledJob').implement({
  description: 'The jobs that a schedule creates.',
  fields: t => ({
    kind: t.expose('kind', { type: JobKindEnum, description: 'The kind of the jobs.' }),
    sources: t.expose('sources', { type: [Location], description: 'The files and folders that the jobs work on.' }),
    target: t.expose('target', {
      type: Location,
      nullable: true,
      description: 'The folder that the sources go into, or null if the jobs delete.',
    }),
    targetName: t.string({
      nullable: true,
      description: 'The name of the source at the target, or null if the sources keep their names.',
      resolve: ({ target }) => target?.name ?? null,
    }),
    conflict: t.expose('conflict', { type: JobConflictEnum, description: 'The behavior if a name is taken.' }),
    deleteExtra: t.exposeBoolean('deleteExtra', {
      description: 'Whether a SYNC deletes entries that exist only at the target.',
    }),
    dryRun: t.exposeBoolean('dryRun', { description: 'Whether the jobs only count what they would do.' }),
    permanent: t.exposeBoolean('permanent', {
      description: 'Whether the jobs delete for good, without the trash.',
    }),
    repair: t.boolean({
      nullable: true,
      description: 'Whether jobs of the kind KEEP_COPIES restore damaged and missing files. Null for other kinds.',
      resolve: ({ keeping }) => keeping?.repair ?? null,
    }),
    recheckDays: t.int({
      nullable: true,
      description: 'The days after which jobs of the kind KEEP_COPIES read a file again. Null for other kinds.',
      resolve: ({ keeping }) => keeping?.recheckDays ?? null,
    }),
  }),
})

const ScheduleType = builder.objectRef<Schedule>('Schedule').implement({
  description:
    'Creates the same job again and again. Its jobs have the rights of the person who created it, limited by their API key. It is disabled when that key ends or the person loses access.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the schedule.' }),
    name: t.exposeString('name', { description: 'The display name.' }),
    cron: t.exposeString('cron', { description: 'The times of the runs, as a cron pattern.' }),
    timeZone: t.exposeString('timeZone', { description: 'The time zone of the pattern.' }),
    job: t.expose('job', { type: ScheduledJobType, description: 'The jobs that the schedule creates.' }),
    enabled: t.boolean({
      description: 'Whether the schedule creates jobs.',
      resolve: ({ nextRunAt }) => nextRunAt !== null,
    }),
    error: t.expose('error', {
      type: JobError,
      nullable: true,
      description: 'Why the server has disabled the schedule, or null.',
    }),
    nextRunAt: t.expose('nextRunAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of the next run, or null if the schedule is disabled.',
    }),
    lastJob: t.expose('lastJob', {
      type: JobRef,
      nullable: true,
      description: 'The latest job, or null before the first run and once that job is deleted.',
    }),
    lastSkippedAt: t.expose('lastSkippedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'The time at which a run was last skipped, because the job before had not ended or you had too many jobs; or null.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
  }),
})
const ScheduleConnection = definePage<Schedule>('Schedule', ScheduleType, 'schedules')

const cronDescription =
  'The times of the runs: a cron pattern of five parts (minute, hour, day of the month, month, day of the week), such as `30 2 * * *`.'
const timeZoneDescription = 'The time zone of the pattern, such as `Europe/Berlin`.'

const CreateScheduleInput = builder.inputType('CreateScheduleInput', {
  description: 'A new schedule.',
  fields: t => ({
    name: t.string({ required: true, description: 'The display name, with 1 to 200 characters.' }),
    cron: t.string({ required: true, description: cronDescription }),
    timeZone: t.string({ defaultValue: 'UTC', description: timeZoneDescription }),
    job: t.field({ type: CreateJobInput, required: true, description: 'The jobs that the schedule creates.' }),
  }),
})

const UpdateScheduleInput = builder.inputType('UpdateScheduleInput', {
  description: 'Changes to a schedule. Omitted fields do not change.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the schedule.' }),
    name: t.string({ description: 'The new name, with 1 to 200 characters.' }),
    cron: t.string({ description: cronDescription }),
    timeZone: t.string({ description: timeZoneDescription }),
    enabled: t.boolean({ description: 'Whether the schedule creates jobs.' }),
  }),
})

const CreateSchedulePayload = builder.objectRef<{ schedule: Schedule }>('CreateSchedulePayload').implement({
  description: 'A new schedule.',
  fields: t => ({ schedule: t.expose('schedule', { type: ScheduleType, description: 'The schedule.' }) }),
})

builder.queryFields(t => ({
  schedules: t.field({
    type: ScheduleConnection,
    description:
      'Returns the schedules at locations that you may access, newest first: those that the credential created, in a session all of your own, and for administrators without restrictions those of everybody.',
    authScopes: { scope: 'read' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of schedules, 1 to ${maxSchedulesPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxSchedulesPage),
    resolve: async (_root, { first, after }, { services, viewer }) =>
      toPage(await services.schedules.list(viewer, { first: first ?? 50, after }), after, ({ schedule }) => schedule),
  }),
}))

builder.mutationFields(t => ({
  createSchedule: t.field({
    type: CreateSchedulePayload,
    description: `Creates a schedule, which needs the same rights as its jobs. You can have ${maxSchedules} schedules.`,
    audit: 'SCHEDULE_CREATE',
    authScopes: atScheduledJob,
    args: { input: t.arg({ type: CreateScheduleInput, required: true, description: 'The schedule.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      schedule: await services.schedules.create(viewer, {
        ...input,
        timeZone: input.timeZone ?? 'UTC',
        job: toNewJob(input.job),
      }),
    }),
  }),
  updateSchedule: t.field({
    type: ScheduleType,
    description: 'Changes, enables or disables a schedule. A run that has started continues.',
    audit: 'SCHEDULE_UPDATE',
    authScopes: { scope: 'write' },
    args: { input: t.arg({ type: UpdateScheduleInput, required: true, description: 'The changes.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.schedules.update(viewer, input),
  }),
  runSchedule: t.field({
    type: JobRef,
    description:
      'Creates the job of a schedule now, with your rights, even if the schedule is disabled. Its times stay. Fails while the job before has not ended.',
    audit: 'JOB_CREATE',
    authScopes: { scope: 'write' },
    args: { id: t.arg.id({ required: true, description: 'The ID of the schedule.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.schedules.run(viewer, id),
  }),
  deleteSchedule: t.boolean({
    description: 'Deletes a schedule. Its jobs stay, and a run that has started continues. Returns true.',
    audit: 'SCHEDULE_DELETE',
    authScopes: { scope: 'write' },
    args: { id: t.arg.id({ required: true, description: 'The ID of the schedule.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.schedules.delete(viewer, id)
      return true
    },
  }),
}))
