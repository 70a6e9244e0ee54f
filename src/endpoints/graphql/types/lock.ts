/** The locks that clients of WebDAV put on entries, and the mutation that ends one. */
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import type { EntryLock } from '../../../services/entry-metadata/locks.ts'
import { builder } from '../builder.ts'
import { EntryRef, findCreator, UserRef } from '../refs.ts'
import { at, atEntry, authorizedBy } from '../rules.ts'

const EntryLockType = builder.objectRef<EntryLock>('EntryLock').implement({
  description: 'A lock. Until it ends, only its holder changes the entry, through any endpoint.',
  fields: t => ({
    id: t.exposeID('token', { description: 'The ID of the lock.' }),
    path: t.string({
      description: 'The path of the locked entry, which may be a folder around this one.',
      resolve: ({ path }) => formatPath(path),
    }),
    isDeep: t.exposeBoolean('isDeep', { description: 'Whether everything below the path is locked as well.' }),
    isExclusive: t.exposeBoolean('isExclusive', {
      description: 'Whether nobody else can hold a lock of the entry at the same time.',
    }),
    holderName: t.exposeString('holderName', {
      nullable: true,
      description: 'The display name of the member who holds the lock. Null without one.',
    }),
    holder: t.field({
      type: UserRef,
      nullable: true,
      description: 'The member who holds the lock. Null if you may not see other members.',
      authScopes: { credential: true },
      resolve: ({ userId }, _args, context) => findCreator(userId, context),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'The time at which the lock ends, unless its client refreshes it.',
    }),
  }),
})

builder.interfaceField(EntryRef, 'lock', t =>
  t.field({
    type: EntryLockType,
    nullable: true,
    description: 'The lock that holds for the entry, or null. Of several shared locks, one of them.',
    authScopes: atEntry,
    resolve: async (_entry, args, context) => {
      const { services, viewer } = context
      const [lock] = await services.entryLocks.covering(viewer, authorizedBy(context, args, needs.read))
      return lock ?? null
    },
  }),
)

const EndLockInput = builder.inputType('EndLockInput', {
  description: 'The lock to end.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The path of an entry for which the lock holds.' }),
    lockId: t.id({ required: true, description: 'The ID of the lock.' }),
  }),
})

builder.mutationField('endLock', t =>
  t.field({
    type: EntryRef,
    description:
      'Ends a lock, as the member who holds it or as an administrator with access to all providers, and returns the entry. The program of the holder may not notice, and lose changes that were not saved.',
    authScopes: at(needs.delete),
    audit: 'LOCK_END',
    args: { input: t.arg({ type: EndLockInput, required: true, description: 'The lock to end.' }) },
    resolve: async (_root, args, context) => {
      const { services, viewer, signal } = context
      const location = authorizedBy(context, args, needs.delete)
      await services.entryLocks.end(viewer, location, String(args.input.lockId))
      const { providerId, path } = args.input
      return services.files.stat(viewer, { providerId: String(providerId), path }, signal)
    },
  }),
)
