import type { Quota } from '../../../adapters/contract.ts'
import type { ProviderStatus } from '../../db/schema.ts'
import type { Capabilities } from '../../services/providers/index.ts'
import { builder } from '../builder.ts'
import { backEndCost, providersCost } from '../cost.ts'
import { FolderRef, ProviderTypeRef, StorageProviderRef } from '../refs.ts'

const statuses: Record<ProviderStatus, { description: string }> = {
  CONNECTED: { description: 'It worked when it was last tried.' },
  NEEDS_AUTHORIZATION: { description: 'A person has yet to give consent: see `authorizeProvider`.' },
  NEEDS_RECONNECT: { description: 'The consent is gone: a person has to give it again.' },
  UNAVAILABLE: { description: 'It did not work when it was last tried; `statusReason` says why.' },
}

const ProviderStatusEnum = builder.enumType('ProviderStatus', {
  description: 'Whether a provider can be used.',
  values: statuses,
})

const ProviderCapabilities = builder.objectRef<Capabilities>('ProviderCapabilities').implement({
  description:
    'What a back end does by itself. What it does not, the server does by streaming; all false where it cannot be opened.',
  fields: t => ({
    serverSideCopy: t.exposeBoolean('serverSideCopy', { description: 'Files are copied inside the back end.' }),
    serverSideMove: t.exposeBoolean('serverSideMove', { description: 'Moving and renaming is one step.' }),
    emptyFolders: t.exposeBoolean('emptyFolders', { description: 'A folder can exist with nothing in it.' }),
    resumableUpload: t.exposeBoolean('resumableUpload', { description: 'It can hold unfinished uploads itself.' }),
    maxFileSize: t.expose('maxFileSize', { type: 'SafeInt', nullable: true, description: 'Bytes; null is no limit.' }),
  }),
})

const QuotaType = builder.objectRef<Quota>('Quota').implement({
  description: 'Room at a back end.',
  fields: t => ({
    used: t.expose('used', { type: 'SafeInt', nullable: true, description: 'Bytes; null is unknown.' }),
    total: t.expose('total', { type: 'SafeInt', nullable: true, description: 'Bytes; null is unknown or unlimited.' }),
  }),
})

StorageProviderRef.implement({
  description: 'A back end that is connected to the workspace.',
  fields: t => ({
    id: t.exposeID('id', { description: 'Stays the same for good.' }),
    name: t.exposeString('name', { description: 'For people.' }),
    type: t.field({
      type: ProviderTypeRef,
      description: 'What kind of back end it is.',
      authScopes: { scope: 'read' },
      resolve: ({ type }, _args, { services, viewer }) =>
        services.providers.types(viewer).find(adapter => adapter.definition.type === type) ?? { type },
    }),
    status: t.expose('status', { type: ProviderStatusEnum, description: 'As of when it was last tried.' }),
    statusReason: t.string({
      nullable: true,
      description: 'Why it does not work; null for those who may not change it.',
      authScopes: { public: true },
      resolve: (record, _args, { services, viewer }) => services.providers.visibleStatusReason(viewer, record),
    }),
    config: t.field({
      type: 'JSON',
      description: 'Without secrets, and empty for those who may not change it.',
      authScopes: { public: true },
      resolve: (record, _args, { services, viewer }) => services.providers.visibleConfig(viewer, record),
    }),
    capabilities: t.field({
      type: ProviderCapabilities,
      description: 'What the back end does by itself.',
      authScopes: { scope: 'read' },
      complexity: backEndCost,
      resolve: (record, _args, { services }) => services.providers.capabilities(record),
    }),
    quota: t.field({
      type: QuotaType,
      nullable: true,
      description: 'Asked of the back end now; null where it cannot say, and for those who reach only a part of it.',
      authScopes: { scope: 'read' },
      complexity: backEndCost,
      resolve: (record, _args, { services, viewer, signal }) => services.providers.quota(viewer, record, signal),
    }),
    root: t.field({
      type: FolderRef,
      description: 'The top of what this credential reaches in the provider: its base path.',
      authScopes: { scope: 'read' },
      resolve: ({ id }, _args, { services, viewer }) => services.files.top(viewer, id),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was connected.' }),
  }),
})

builder.queryFields(t => ({
  providers: t.field({
    type: [StorageProviderRef],
    description: 'Those that the credential can reach, the oldest first.',
    authScopes: { scope: 'read' },
    complexity: providersCost,
    resolve: (_root, _args, { services, viewer }) => services.providers.list(viewer),
  }),
  provider: t.field({
    type: StorageProviderRef,
    description: 'One that the credential can reach.',
    authScopes: { scope: 'read' },
    args: { id: t.arg.id({ required: true, description: 'Of the provider.' }) },
    resolve: (_root, { id }, context) => context.provider(id),
  }),
}))
