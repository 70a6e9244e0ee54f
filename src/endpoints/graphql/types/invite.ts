/** Invites, with which people register. */
import type { Invite } from '../../../db/invites.ts'
import { maxInvites } from '../../../services/people/invites.ts'
import { builder } from '../builder.ts'
import { findCreator, ProviderAccessRef, UserRef } from '../refs.ts'
import { ProviderAccessInput, RoleEnum } from './provider-access.ts'

const InviteType = builder.objectRef<Invite>('Invite').implement({
  description: 'An invite that is neither used nor expired. Its code is shown only when it is created.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the invite. It is not the code.' }),
    role: t.expose('role', { type: RoleEnum, description: 'The role of the person who registers with the invite.' }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: 'The providers on which that person can use the role.',
      authScopes: { credential: true },
      resolve: ({ access }, _args, { viewer }) => ({ access, seenBy: viewer }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time at which the invite expires.' }),
    note: t.exposeString('note', {
      nullable: true,
      description: 'For whom the invite is, in the words of the person who created it.',
    }),
    createdBy: t.field({
      type: UserRef,
      nullable: true,
      description:
        'The person who created the invite. Null if they are no longer a member; the invite then grants nothing.',
      authScopes: { credential: true },
      resolve: ({ createdBy }, _args, context) => findCreator(createdBy, context),
    }),
  }),
})

const CreateInvitePayload = builder.objectRef<{ invite: string; expiresAt: Date }>('CreateInvitePayload').implement({
  description: 'A new invite.',
  fields: t => ({
    invite: t.exposeString('invite', {
      description: 'The code with which one person registers. It is not shown again.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time at which the invite expires.' }),
  }),
})

const CreateInviteInput = builder.inputType('CreateInviteInput', {
  description: 'The role and provider access of the person who registers with the invite.',
  fields: t => ({
    role: t.field({ type: RoleEnum, required: true, description: 'The role, at most your own.' }),
    providerAccess: t.field({
      type: ProviderAccessInput,
      description: 'The provider access, at most your own. The default is your own.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'The expiry date, in the future. The default is one week from now.',
    }),
    note: t.string({
      description: 'For whom the invite is, with at most 200 characters. The invited person does not see it.',
    }),
  }),
})

builder.queryField('invites', t =>
  t.field({
    type: [InviteType],
    description: `Returns the unused, unexpired invites that grant at most your own role, newest first, at most ${maxInvites}.`,
    authScopes: { workspace: 'admin' },
    complexity: { field: 1, multiplier: maxInvites },
    resolve: (_root, _args, { services, viewer }) => services.invites.list(viewer),
  }),
)

builder.mutationFields(t => ({
  createInvite: t.field({
    type: CreateInvitePayload,
    description:
      'Creates an invite with which one person can register. An invite created with an API key ends with the key.',
    audit: 'INVITE_CREATE',
    authScopes: { workspace: 'admin', recent: true },
    args: {
      input: t.arg({
        type: CreateInviteInput,
        required: true,
        description: 'The role and provider access of the invite.',
      }),
    },
    resolve: (_root, { input }, { services, viewer }) => services.invites.create(viewer, input),
  }),
  revokeInvite: t.boolean({
    description: 'Revokes an unused invite that grants at most your own role. Returns true.',
    audit: 'INVITE_REVOKE',
    authScopes: { workspace: 'admin' },
    args: { id: t.arg.id({ required: true, description: 'The ID of the invite.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.invites.revoke(viewer, id)
      return true
    },
  }),
}))
