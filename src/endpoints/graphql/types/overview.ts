/** The overview for administrators. */
import type { FailureCount, FailureKind, PeopleCounts } from '../../../db/overview.ts'
import type { ServerProcess } from '../../../db/server-processes.ts'
import type { UsageDay } from '../../../db/usage-days.ts'
import { growthDays, maxUsageDays, type Overview, type OverviewStorage } from '../../../services/overview/index.ts'
import { builder } from '../builder.ts'
import { providersCost } from '../cost.ts'
import { StorageProviderRef } from '../refs.ts'
import { RoleEnum } from './provider-access.ts'

const RoleCountType = builder.objectRef<PeopleCounts['roles'][number]>('RoleCount').implement({
  description: 'How many members have a role.',
  fields: t => ({
    role: t.expose('role', { type: RoleEnum, description: 'The strongest role of a member and their groups.' }),
    members: t.exposeInt('members', { description: 'The number of members.' }),
  }),
})

const OverviewPeopleType = builder.objectRef<PeopleCounts>('OverviewPeople').implement({
  description: 'The number of people in the workspace. Members who are deactivated count only where they are named.',
  fields: t => ({
    roles: t.expose('roles', { type: [RoleCountType], description: 'The members of each role, the highest first.' }),
    activeIn7Days: t.exposeInt('activeIn7Days', {
      description:
        'The members who signed in, used a key or did something that the audit log has, in the last seven days.',
    }),
    activeIn30Days: t.exposeInt('activeIn30Days', { description: 'The same in the last 30 days.' }),
    withoutSecondFactor: t.exposeInt('withoutSecondFactor', {
      description: 'The members who sign in with a password alone.',
    }),
    invites: t.exposeInt('invites', { description: 'The invites that nobody has used and that have not expired.' }),
    serviceAccounts: t.exposeInt('serviceAccounts', { description: 'The accounts of programs.' }),
    deactivated: t.exposeInt('deactivated', { description: 'The members who are deactivated.' }),
  }),
})

const OverviewStorageType = builder.objectRef<OverviewStorage>('OverviewStorage').implement({
  description: 'A provider with its usage, which a server adds up from the catalogue several times a day.',
  fields: t => ({
    provider: t.expose('provider', { type: StorageProviderRef, description: 'The provider.' }),
    files: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'The number of files, or null if they were never counted.',
      resolve: ({ usage }) => usage?.files ?? null,
    }),
    bytes: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'The bytes of all files, or null if they were never counted.',
      resolve: ({ usage }) => usage?.bytes ?? null,
    }),
    addedBytes: t.field({
      type: 'SafeInt',
      nullable: true,
      description: `The bytes that were added in the last ${growthDays} days, negative if there are fewer bytes now. Null if nothing is known from then.`,
      resolve: ({ usage }) => usage?.addedBytes ?? null,
    }),
  }),
})

const failureKinds: Record<FailureKind, { description: string }> = {
  STORAGES: { description: 'Providers that do not work at present.' },
  JOBS: { description: 'Jobs that failed.' },
  DAMAGE: { description: 'Checks that found damaged or missing files.' },
  SCHEDULES: { description: 'Schedules that the server has disabled.' },
  WEBHOOKS: { description: 'Webhooks that the server has disabled.' },
  DELIVERIES: { description: 'Messages of webhooks that were given up.' },
  EMAILS: { description: 'Emails of this server that were given up, and those that wait for another attempt.' },
  DIRECTORY: {
    description: 'The LDAP directory could not be read, or deactivated nobody because people were missing.',
  },
  SIGN_INS: { description: 'Sign-ins that were refused.' },
}

const FailureKindEnum = builder.enumType('FailureKind', { description: 'A kind of failure.', values: failureKinds })

const OverviewFailureType = builder.objectRef<FailureCount>('OverviewFailure').implement({
  description: 'Failures of one kind.',
  fields: t => ({
    kind: t.expose('kind', { type: FailureKindEnum, description: 'The kind.' }),
    count: t.exposeInt('count', { description: 'The number of failures.' }),
    latestAt: t.expose('latestAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of the last one, or null if it is not known.',
    }),
  }),
})

const ServerProcessType = builder.objectRef<ServerProcess>('ServerProcess').implement({
  description: 'A process of a server.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The ID of the process, which lasts as long as it runs.' }),
    host: t.exposeString('host', { description: 'The name of its machine or container.' }),
    version: t.exposeString('version', { description: 'The version of Stowage.' }),
    nodeVersion: t.exposeString('nodeVersion', { description: 'The version of Node.js.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'The time at which it started.' }),
    seenAt: t.expose('seenAt', {
      type: 'DateTime',
      description: 'The time at which it last showed that it runs, which it does twice a minute.',
    }),
    isAlive: t.exposeBoolean('isAlive', { description: 'Whether it has shown lately that it runs.' }),
  }),
})

const OverviewServerType = builder.objectRef<Overview['server']>('OverviewServer').implement({
  description: 'The versions and processes that run.',
  fields: t => ({
    version: t.exposeString('version', { description: 'The version of Stowage of the server that responds.' }),
    postgresVersion: t.exposeString('postgresVersion', { description: 'The version of PostgreSQL.' }),
    migration: t.exposeString('migration', { description: 'The last step of the schema of the database.' }),
    databaseBytes: t.expose('databaseBytes', {
      type: 'SafeInt',
      description: 'The bytes that the database takes on its disk.',
    }),
    processes: t.expose('processes', {
      type: [ServerProcessType],
      description: 'The processes that run, and for an hour those that were killed.',
    }),
    hasMixedVersions: t.exposeBoolean('hasMixedVersions', {
      description: 'Whether the processes that run have several versions of Stowage, as during an update.',
    }),
  }),
})

const OverviewType = builder.objectRef<Overview>('Overview').implement({
  description: 'The facts that an administrator looks at first.',
  fields: t => ({
    people: t.expose('people', { type: OverviewPeopleType, description: 'The people in the workspace.' }),
    storages: t.expose('storages', {
      type: [OverviewStorageType],
      description: 'The providers, the oldest first.',
      complexity: providersCost,
    }),
    failures: t.expose('failures', {
      type: [OverviewFailureType],
      description: 'The failures that last, and those of the last seven days. Kinds without failures are missing.',
    }),
    server: t.expose('server', { type: OverviewServerType, description: 'The versions and processes that run.' }),
  }),
})

const UsageDayType = builder.objectRef<UsageDay>('UsageDay').implement({
  description: 'The usage of providers on a day.',
  fields: t => ({
    day: t.expose('day', { type: 'DateTime', description: 'The beginning of the day, in UTC.' }),
    files: t.expose('files', { type: 'SafeInt', description: 'The number of files.' }),
    bytes: t.expose('bytes', { type: 'SafeInt', description: 'The bytes of all files.' }),
  }),
})

builder.queryFields(t => ({
  overview: t.field({
    type: OverviewType,
    description:
      'Returns the facts that an administrator looks at first. Only some fields of `provider` ask a back end.',
    authScopes: { workspace: 'admin' },
    resolve: (_root, _args, { services, viewer, signal }) => services.overview.read(viewer, signal),
  }),
  usageHistory: t.field({
    type: [UsageDayType],
    description:
      'Returns the usage of the providers on each day that is known, the oldest first. It does not include providers without a catalogue or providers that were disconnected since.',
    authScopes: { workspace: 'admin' },
    args: {
      days: t.arg.int({
        defaultValue: 30,
        description: `The number of days until today, 1 to ${maxUsageDays}.`,
      }),
      providerId: t.arg.id({ description: 'The ID of a provider. The default is all providers together.' }),
    },
    complexity: ({ days }) => ({ field: 1, multiplier: Math.min(Math.max(days ?? 30, 1), maxUsageDays) }),
    resolve: (_root, { days, providerId }, { services, viewer, signal }) =>
      services.overview.usage(viewer, { days: days ?? 30, providerId }, signal),
  }),
}))
