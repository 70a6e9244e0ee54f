/** Holds, which keep entries as they are until a date or until an owner releases them. */
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { type EntryHold, maxHoldReason, maxHoldsPage } from '../../../services/entry-metadata/holds.ts'
import { builder } from '../builder.ts'
import { backEndCost, connectionCost } from '../cost.ts'
import { EntryRef, findCreator, UserRef } from '../refs.ts'
import { at, atEntry, authorizedBy } from '../rules.ts'
import { definePage, toPage } from './page.ts'

const Hold = builder.objectRef<EntryHold>('Hold').implement({
  description:
    'A hold. Until it ends, nobody changes, moves or deletes anything at its path and below it through Stowage.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the hold.' }),
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    path: t.string({ description: 'The path of the file or folder.', resolve: ({ path }) => formatPath(path) }),
    reason: t.exposeString('reason', { description: 'The reason, as its creator wrote it.' }),
    until: t.expose('until', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the hold ends, or null if it lasts until an owner releases it.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
    createdBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'The member who created it. Null if they have left, or if you may not see other members.',
      authScopes: { credential: true },
      resolve: ({ userId }, _args, context) => findCreator(userId, context),
    }),
    releasedAt: t.expose('releasedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which an owner released it, or null.',
    }),
    isObjectLock: t.boolean({
      description:
        'Whether it is a lock of one object, as S3 Object Lock sets it. Programs that use S3 may then replace and delete the object, whose content stays as a version.',
      resolve: ({ objectLock }) => objectLock !== null,
    }),
  }),
})

builder.interfaceField(EntryRef, 'hold', t =>
  t.field({
    type: Hold,
    nullable: true,
    description:
      'The hold of the entry or of a folder around it, or null. Of several holds, the one that lasts longest.',
    authScopes: atEntry,
    resolve: async (_entry, args, context) => {
      const { services, viewer } = context
      const [hold] = await services.entryHolds.covering(viewer, authorizedBy(context, args, needs.read))
      return hold ?? null
    },
  }),
)

const HoldConnection = definePage<EntryHold>('Hold', Hold, 'holds')

builder.queryField('holds', t =>
  t.field({
    type: HoldConnection,
    description: 'Returns the holds that have not ended, within your base paths, the newest first.',
    authScopes: { scope: 'admin' },
    args: {
      providerId: t.arg.id({ description: 'Only the holds of the provider with this ID.' }),
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of holds, 1 to ${maxHoldsPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxHoldsPage),
    resolve: async (_root, { providerId, first, after }, { services, viewer }) => {
      const page = await services.entryHolds.list(viewer, { providerId: providerId ?? null, first: first ?? 50, after })
      return toPage(page, after, ({ hold }) => hold)
    },
  }),
)

const CreateHoldInput = builder.inputType('CreateHoldInput', {
  description: 'The entry to hold.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The path of the file or folder.' }),
    until: t.field({
      type: 'DateTime',
      description:
        'The time at which the hold ends, in the future. Nobody ends it earlier. Without it, the hold lasts until an owner releases it.',
    }),
    reason: t.string({ required: true, description: `The reason, of at most ${maxHoldReason} characters.` }),
  }),
})

builder.mutationFields(t => ({
  createHold: t.field({
    type: Hold,
    description:
      'Holds a file or a folder with everything in it: nobody changes, moves or deletes anything there through Stowage, or adds anything to the folder. Changes that are running end within a second.',
    authScopes: at(needs.hold),
    audit: 'HOLD_CREATE',
    complexity: backEndCost,
    args: {
      input: t.arg({ type: CreateHoldInput, required: true, description: 'The entry, and the end of the hold.' }),
    },
    resolve: (_root, args, context) => {
      const { reason, until } = args.input
      const input = { ...authorizedBy(context, args, needs.hold), reason, until: until ?? null }
      return context.services.entryHolds.create(context.viewer, input, context.signal)
    },
  }),
  releaseHold: t.field({
    type: Hold,
    description: 'Ends a hold that has no date. Requires an owner of the workspace.',
    authScopes: { workspace: 'admin' },
    audit: 'HOLD_RELEASE',
    args: { id: t.arg.id({ required: true, description: 'The ID of the hold.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.entryHolds.release(viewer, id),
  }),
}))
