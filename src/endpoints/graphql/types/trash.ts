import { formatKeptId } from '../../../auth/id.ts'
import { needs } from '../../../auth/needs.ts'
import { nameOf, parsePath } from '../../../auth/path.ts'
import type { TrashItem } from '../../../db/trash.ts'
import { maxTrashPage } from '../../../services/trash/index.ts'
import { builder } from '../builder.ts'
import { backEndCost, connectionCost } from '../cost.ts'
import { EntryRef, findCreator, TrashItemRef, UserRef } from '../refs.ts'
import { at, authorizedBy } from '../rules.ts'
import { ConflictBehaviorEnum } from './change-entry.ts'
import { definePage, toPage } from './page.ts'

const kindNames: Record<TrashItem['kind'], 'FILE' | 'FOLDER'> = { file: 'FILE', directory: 'FOLDER' }

const TrashItemKind = builder.enumType('TrashItemKind', {
  description: 'The kind of a deleted entry.',
  values: { FILE: { description: 'A file.' }, FOLDER: { description: 'A folder with everything in it.' } },
})

TrashItemRef.implement({
  description: 'A file or folder in the trash.',
  fields: t => ({
    id: t.id({ description: 'The ID for `restore`. It contains the path.', resolve: formatKeptId }),
    kind: t.field({ type: TrashItemKind, description: 'The kind.', resolve: ({ kind }) => kindNames[kind] }),
    name: t.string({ description: 'The name before the deletion.', resolve: ({ path }) => nameOf(parsePath(path)) }),
    originalPath: t.exposeString('path', { description: 'The path before the deletion, to which `restore` moves it.' }),
    size: t.expose('size', {
      type: 'SafeInt',
      nullable: true,
      description: 'Bytes; null for a folder, or if the back end does not report it.',
    }),
    deletedAt: t.expose('deletedAt', { type: 'DateTime', description: 'The time of the deletion.' }),
    deletedBy: t.field({
      type: UserRef,
      nullable: true,
      description:
        'The person who deleted it. Null if they are no longer a member, or if you may not see other members.',
      authScopes: { credential: true },
      resolve: ({ userId }, _args, context) => findCreator(userId, context),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'The time after which the server deletes it for good.',
    }),
  }),
})
const TrashConnection = definePage<TrashItem>('Trash', TrashItemRef, 'deleted files and folders')

const RestoreInput = builder.inputType('RestoreInput', {
  description: 'An entry in the trash that is to be restored.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the entry in the trash.' }),
    conflict: t.field({
      type: ConflictBehaviorEnum,
      defaultValue: 'FAIL',
      description: 'The behavior if something else has the path now.',
    }),
  }),
})

builder.queryField('trash', t =>
  t.field({
    type: TrashConnection,
    description:
      'Returns the files and folders in the trash of a provider that were deleted at or below your base path, newest first. They stay there for the days that `StorageProvider.trash` names.',
    authScopes: { scope: 'write' },
    args: {
      providerId: t.arg.id({ required: true, description: 'The ID of the provider.' }),
      jobId: t.arg.id({ description: 'Only the entries that the job with this ID has deleted.' }),
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of entries, 1 to ${maxTrashPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxTrashPage),
    resolve: async (_root, { providerId, jobId, first, after }, { services, viewer }) => {
      const page = await services.trash.list(viewer, { providerId, jobId }, { first: first ?? 50, after })
      return toPage(page, after, ({ item }) => item)
    },
  }),
)

builder.mutationFields(t => ({
  restore: t.field({
    type: EntryRef,
    description:
      'Moves a file, or a folder with everything in it, from the trash to the path at which it was deleted. Missing folders are created.',
    audit: 'RESTORE',
    authScopes: at(needs.restore),
    complexity: backEndCost,
    args: { input: t.arg({ type: RestoreInput, required: true, description: 'The entry to restore.' }) },
    resolve: (_root, args, context) => {
      const { id, conflict } = args.input
      const input = { ...authorizedBy(context, args, needs.restore), id, conflict: conflict ?? 'FAIL' }
      return context.services.trash.restore(context.viewer, input, context.signal)
    },
  }),
  emptyTrash: t.boolean({
    description:
      'Deletes everything for good that was deleted in a provider at or below your base path. Returns true at once; a server then frees the space.',
    audit: 'TRASH_EMPTY',
    authScopes: { scope: 'write' },
    args: { providerId: t.arg.id({ required: true, description: 'The ID of the provider.' }) },
    resolve: async (_root, { providerId }, { services, viewer }) => {
      await services.trash.empty(viewer, providerId)
      return true
    },
  }),
}))
