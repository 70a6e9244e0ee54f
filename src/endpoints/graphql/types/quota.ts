/** Quotas: limits on what a storage or a folder contains, and on what a member is charged for. */
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { maxQuotasPage, type QuotaRule } from '../../../services/quotas/index.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { FolderRef, findCreator, StorageProviderRef, UserRef } from '../refs.ts'
import { atEntry, authorizedBy, notALocation } from '../rules.ts'
import { definePage, toPage } from './page.ts'

const QuotaRuleType = builder.objectRef<QuotaRule>('QuotaRule').implement({
  description:
    'A limit on the bytes and files in a storage or a folder, with everything below it, or on those that a member is charged for. The trash counts.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the quota.' }),
    providerId: t.exposeID('providerId', { nullable: true, description: 'The ID of the provider, or null.' }),
    path: t.string({
      nullable: true,
      description: 'The path of the folder, "/" for a whole storage, or null.',
      resolve: ({ path }) => (path === null ? null : formatPath(path)),
    }),
    member: t.field({
      type: UserRef,
      nullable: true,
      description: 'The member, or null. Also null if you may not see other members.',
      authScopes: { credential: true },
      resolve: ({ userId }, _args, context) => findCreator(userId, context),
    }),
    bytes: t.expose('bytes', { type: 'SafeInt', nullable: true, description: 'The maximum number of bytes, or null.' }),
    files: t.expose('files', { type: 'SafeInt', nullable: true, description: 'The maximum number of files, or null.' }),
    usedBytes: t.expose('usedBytes', { type: 'SafeInt', description: 'The bytes that count against the quota.' }),
    usedFiles: t.expose('usedFiles', { type: 'SafeInt', description: 'The files that count against the quota.' }),
    reservedBytes: t.expose('reservedBytes', {
      type: 'SafeInt',
      description: 'The bytes that uploads and other changes have reserved until they end.',
    }),
    reservedFiles: t.expose('reservedFiles', {
      type: 'SafeInt',
      description: 'The files that uploads and other changes have reserved until they end.',
    }),
    isExact: t.exposeBoolean('isExact', {
      description:
        'Whether the server has counted everything that existed before the quota. Files that a member created before any quota are charged to nobody.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
  }),
})

builder.objectField(StorageProviderRef, 'quotaRule', t =>
  t.field({
    type: QuotaRuleType,
    nullable: true,
    description: 'The quota of the whole storage. Null if it has none, or if you can access only a part of it.',
    authScopes: { scope: 'read' },
    resolve: ({ id }, _args, { services, viewer }) => services.quotas.ofProvider(viewer, id),
  }),
)

builder.objectField(FolderRef, 'quotaRule', t =>
  t.field({
    type: QuotaRuleType,
    nullable: true,
    description: 'The quota of the folder itself, or null.',
    authScopes: atEntry,
    resolve: (_entry, args, context) =>
      context.services.quotas.ofFolder(context.viewer, authorizedBy(context, args, needs.read)),
  }),
)

builder.objectField(UserRef, 'quotaRule', t =>
  t.field({
    type: QuotaRuleType,
    nullable: true,
    description: 'The quota of the member. Null if they have none, or if you may not see it.',
    authScopes: { credential: true },
    resolve: ({ member }, _args, { services, viewer }) => services.quotas.ofMember(viewer, member.userId),
  }),
)

const QuotaRuleConnection = definePage<QuotaRule>('QuotaRule', QuotaRuleType, 'quotas')

builder.queryField('quotas', t =>
  t.field({
    type: QuotaRuleConnection,
    description:
      'Returns the quotas that you may see, the newest first: those of storages and folders of which you can access everything, and your own.',
    authScopes: { scope: 'read' },
    args: {
      providerId: t.arg.id({ description: 'Only the quotas of the provider with this ID.' }),
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of quotas, 1 to ${maxQuotasPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxQuotasPage),
    resolve: async (_root, { providerId, first, after }, { services, viewer }) => {
      const page = await services.quotas.list(viewer, { providerId: providerId ?? null, first: first ?? 50, after })
      return toPage(page, after, ({ rule }) => rule)
    },
  }),
)

const SetQuotaInput = builder.inputType('SetQuotaInput', {
  description: 'Either a provider, with a path for one of its folders, or a member; and the limits.',
  fields: t => ({
    providerId: t.id({ description: 'The ID of the provider.' }),
    // Those who set quotas have access to everything.
    path: t.string({ description: 'The path of the folder. Default: "/", the whole storage.', ...notALocation }),
    userId: t.id({ description: 'The ID of the member.' }),
    bytes: t.field({ type: 'SafeInt', description: 'The maximum number of bytes. Null is no limit.' }),
    files: t.field({ type: 'SafeInt', description: 'The maximum number of files. Null is no limit.' }),
  }),
})

builder.mutationField('setQuota', t =>
  t.field({
    type: QuotaRuleType,
    description:
      'Sets the quota of a storage, a folder or a member. Without any limit, the quota is removed. A quota lower than what is stored deletes nothing. Requires an administrator with access to all providers.',
    authScopes: { workspace: 'admin' },
    audit: 'QUOTA_SET',
    args: { input: t.arg({ type: SetQuotaInput, required: true, description: 'The quota.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.quotas.set(viewer, input),
  }),
)
