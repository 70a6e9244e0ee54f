import type { AdapterDefinition, Quota } from '../../../../adapters/contract.ts'
import { formatPath } from '../../../auth/path.ts'
import type { JobLimits } from '../../../db/providers.ts'
import type { ProviderStatus } from '../../../db/schema.ts'
import type { Capabilities, TrashTraits, VersionTraits } from '../../../services/providers/index.ts'
import { builder } from '../builder.ts'
import { backEndCost, providersCost } from '../cost.ts'
import { FolderRef, ProviderTypeRef, StorageProviderRef } from '../refs.ts'
import { ProviderEncryption } from './encryption.ts'

const ProviderGroupEnum = builder.enumType('ProviderGroup', {
  description: 'Where back ends are.',
  values: {
    THIS_SERVER: { description: 'On the machine of this server.' },
    CLOUD_ACCOUNTS: { description: 'In the account of a person or a team at a cloud.' },
    SERVERS_AND_BUCKETS: { description: 'On other servers, or in buckets.' },
  } as const,
})

function groupOf({ group, oauth }: AdapterDefinition) {
  const stated = group ?? (oauth ? 'account' : 'remote')
  return ({ server: 'THIS_SERVER', account: 'CLOUD_ACCOUNTS', remote: 'SERVERS_AND_BUCKETS' } as const)[stated]
}

ProviderTypeRef.implement({
  description: 'A type of back end. If its adapter is no longer installed, only `type` is known.',
  fields: t => ({
    type: t.string({
      description: 'The permanent name of the type, such as local or s3.',
      resolve: shape => ('definition' in shape ? shape.definition.type : shape.type),
    }),
    title: t.string({
      description: 'The display name, such as "Local disk".',
      resolve: shape => ('definition' in shape ? shape.definition.title : shape.type),
    }),
    configSchema: t.field({
      type: 'JSON',
      description:
        'The JSON Schema (draft-07) of the configuration. `writeOnly` marks secrets, `steps` are instructions, and `choices` say which properties belong to which way to sign in. Empty without the scope `admin`.',
      authScopes: { scope: 'read' },
      resolve: (shape, _args, { services, viewer }) =>
        'definition' in shape ? services.providers.visibleSchema(viewer, shape) : {},
    }),
    needsAuthorization: t.boolean({
      description: 'Whether a person must give OAuth consent before the provider can be used.',
      resolve: shape => 'definition' in shape && shape.definition.oauth !== undefined,
    }),
    group: t.field({
      type: ProviderGroupEnum,
      description: 'Where the back ends of this type are.',
      resolve: shape => ('definition' in shape ? groupOf(shape.definition) : 'SERVERS_AND_BUCKETS'),
    }),
    builtIn: t.boolean({
      description: 'True if the adapter is built in, false if it comes from STOWAGE_ADAPTERS.',
      resolve: shape => 'definition' in shape && shape.builtIn,
    }),
  }),
})

builder.queryField('providerTypes', t =>
  t.field({
    type: [ProviderTypeRef],
    description: 'Returns the types of back end that this server supports: built in, or from STOWAGE_ADAPTERS.',
    authScopes: { scope: 'read' },
    complexity: providersCost,
    resolve: (_root, _args, { services, viewer }) => services.providers.types(viewer),
  }),
)

const statuses: Record<ProviderStatus, { description: string }> = {
  CONNECTED: { description: 'The last test, or the last call since, succeeded.' },
  NEEDS_AUTHORIZATION: { description: 'A person must give consent first: see `authorizeProvider`.' },
  NEEDS_RECONNECT: { description: 'The consent has ended. A person must give it again.' },
  UNAVAILABLE: {
    description: 'The last test, or a call since, showed that the back end does not work; `statusReason` says why.',
  },
}

const ProviderStatusEnum = builder.enumType('ProviderStatus', {
  description: 'Whether a provider can be used.',
  values: statuses,
})

const ProviderCapabilities = builder.objectRef<Capabilities>('ProviderCapabilities').implement({
  description:
    'The operations that a back end supports. Other copies and moves are streamed through the server. All values are false if the back end cannot be opened.',
  fields: t => ({
    serverSideCopy: t.exposeBoolean('serverSideCopy', { description: 'Whether the back end copies files by itself.' }),
    serverSideMove: t.exposeBoolean('serverSideMove', {
      description: 'Whether the back end moves and renames in one step.',
    }),
    emptyFolders: t.exposeBoolean('emptyFolders', { description: 'Whether a folder can be empty.' }),
    resumableUpload: t.exposeBoolean('resumableUpload', {
      description: 'Whether the back end stores unfinished uploads.',
    }),
    maxFileSize: t.expose('maxFileSize', {
      type: 'SafeInt',
      nullable: true,
      description: 'The maximum file size in bytes, or null if there is no limit.',
    }),
  }),
})

const QuotaType = builder.objectRef<Quota>('Quota').implement({
  description: 'The storage space at a back end.',
  fields: t => ({
    used: t.expose('used', { type: 'SafeInt', nullable: true, description: 'The used bytes, or null if unknown.' }),
    total: t.expose('total', {
      type: 'SafeInt',
      nullable: true,
      description: 'The total bytes, or null if unknown or unlimited.',
    }),
  }),
})

const JobLimitsType = builder.objectRef<JobLimits>('JobLimits').implement({
  description:
    'The limits of all jobs together at a provider. The jobs that run at the same time, on all servers, share it equally.',
  fields: t => ({
    filesAtOnce: t.exposeInt('filesAtOnce', { description: 'The number of files that they work on at once.' }),
    bytesPerSecond: t.expose('bytesPerSecond', {
      type: 'SafeInt',
      nullable: true,
      description: 'The bytes per second that pass through the servers, or null if there is no limit.',
    }),
  }),
})

const ProviderTrashType = builder.objectRef<TrashTraits>('ProviderTrash').implement({
  description: 'The trash of a provider.',
  fields: t => ({
    days: t.exposeInt('days', {
      description: 'The number of days that they stay in the trash. They are deleted at once if it is 0.',
    }),
    isOneStep: t.exposeBoolean('isOneStep', {
      description:
        'Whether they get to the trash in one step. Otherwise the back end copies every file, which takes time and can cost money.',
    }),
    isNative: t.exposeBoolean('isNative', {
      description: 'Whether they go to the trash of the back end itself. Otherwise they go to a hidden folder.',
    }),
  }),
})

const ProviderVersionsType = builder.objectRef<VersionTraits>('ProviderVersions').implement({
  description: 'The earlier versions that a provider keeps of replaced files.',
  fields: t => ({
    count: t.exposeInt('count', { description: 'The maximum number for each file; 0 if it keeps none.' }),
    days: t.exposeInt('days', { description: 'The number of days that they are kept.' }),
    isOneStep: t.exposeBoolean('isOneStep', {
      description:
        'Whether a file is kept in the step that replaces it. Otherwise each file is copied first, which takes time and can cost money.',
    }),
    isNative: t.exposeBoolean('isNative', {
      description:
        'Whether the back end keeps replaced files by itself, as long as it is set to, so that Stowage keeps none by default.',
    }),
  }),
})

StorageProviderRef.implement({
  description: 'A back end that is connected to the workspace.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the provider.' }),
    name: t.exposeString('name', { description: 'The display name.' }),
    slug: t.exposeString('slug', {
      description: 'The name in the addresses of WebDAV and S3, where it is the bucket. Unique in the workspace.',
    }),
    type: t.field({
      type: ProviderTypeRef,
      description: 'The type of back end.',
      authScopes: { scope: 'read' },
      resolve: ({ type }, _args, { services, viewer }) =>
        services.providers.types(viewer).find(adapter => adapter.definition.type === type) ?? { type },
    }),
    status: t.expose('status', {
      type: ProviderStatusEnum,
      description: 'The status at the last test, or at the last call to the back end since.',
    }),
    statusReason: t.string({
      nullable: true,
      description: 'Why the provider does not work. Null if you may not change the provider.',
      authScopes: { public: true },
      resolve: (record, _args, { services, viewer }) => services.providers.visibleStatusReason(viewer, record),
    }),
    config: t.field({
      type: 'JSON',
      description: 'The configuration without its secrets. Empty if you may not change the provider.',
      authScopes: { public: true },
      resolve: (record, _args, { services, viewer }) => services.providers.visibleConfig(viewer, record),
    }),
    capabilities: t.field({
      type: ProviderCapabilities,
      description: 'The operations that the back end supports.',
      authScopes: { scope: 'read' },
      complexity: backEndCost,
      resolve: (record, _args, { services }) => services.providers.capabilities(record),
    }),
    quota: t.field({
      type: QuotaType,
      nullable: true,
      description:
        'The storage space that the back end reports now. Null if it does not report it, or if you can access only a part of the provider.',
      authScopes: { scope: 'read' },
      complexity: backEndCost,
      resolve: (record, _args, { services, viewer, signal }) => services.providers.quota(viewer, record, signal),
    }),
    jobLimits: t.expose('jobLimits', { type: JobLimitsType, description: 'The limits of jobs at the provider.' }),
    trashDays: t.exposeInt('trashDays', {
      nullable: true,
      description: 'The days in the trash as set for this provider, or null for the setting of the server.',
    }),
    trash: t.field({
      type: ProviderTrashType,
      description: 'The trash of the provider. Its days are 0 if the back end cannot be opened.',
      authScopes: { scope: 'read' },
      complexity: backEndCost,
      resolve: (record, _args, { services }) => services.providers.trash(record),
    }),
    versionCount: t.exposeInt('versionCount', {
      nullable: true,
      description: 'The number of earlier versions as set for this provider, or null for the default.',
    }),
    versionDays: t.exposeInt('versionDays', {
      nullable: true,
      description: 'The days of earlier versions as set for this provider, or null for the setting of the server.',
    }),
    versions: t.field({
      type: ProviderVersionsType,
      description: 'The earlier versions that the provider keeps. Their number is 0 if the back end cannot be opened.',
      authScopes: { scope: 'read' },
      complexity: backEndCost,
      resolve: (record, _args, { services }) => services.providers.versions(record),
    }),
    root: t.field({
      type: FolderRef,
      description:
        'The top folder that this credential can access: its base path. If it has several, this is the first of `basePaths`.',
      authScopes: { scope: 'read' },
      resolve: ({ id }, _args, { services, viewer }) => services.files.tops(viewer, id)[0],
    }),
    basePaths: t.stringList({
      description: 'The top folders that this credential can access. There is at least one; "/" is the whole provider.',
      authScopes: { scope: 'read' },
      resolve: ({ id }, _args, { services, viewer }) =>
        services.files.tops(viewer, id).map(({ path }) => formatPath(path)),
    }),
    encryption: t.expose('encryption', {
      type: ProviderEncryption,
      nullable: true,
      description: 'How the provider encrypts what the back end stores; null if it does not.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'The time at which the provider was connected.',
    }),
  }),
})

builder.queryFields(t => ({
  providers: t.field({
    type: [StorageProviderRef],
    description: 'Returns the providers that the credential can access, oldest first.',
    authScopes: { scope: 'read' },
    complexity: providersCost,
    resolve: (_root, _args, { services, viewer }) => services.providers.list(viewer),
  }),
  provider: t.field({
    type: StorageProviderRef,
    description: 'Returns one provider that the credential can access.',
    authScopes: { scope: 'read' },
    args: { id: t.arg.id({ required: true, description: 'The ID of the provider.' }) },
    resolve: (_root, { id }, context) => context.provider(id),
  }),
}))
