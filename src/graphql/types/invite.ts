import { requireViewer } from '../../auth/viewer.ts'
import type { Invite } from '../../db/invites.ts'
import { maxInvites } from '../../services/people/invites.ts'
import { builder } from '../builder.ts'
import { ProviderAccessRef, UserRef } from '../refs.ts'
import { ProviderAccessInput } from './provider-access.ts'
import { RoleEnum } from './role.ts'

const InviteType = builder.objectRef<Invite>('Invite').implement({
  description: 'An invite that was neither used nor has expired. What one registers with is never shown again.',
  fields: t => ({
    id: t.exposeID('id', { description: 'Stays the same for good; nobody can register with it.' }),
    role: t.expose('role', { type: RoleEnum, description: 'What whoever uses it becomes.' }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: 'Which providers they can use the role on.',
      authScopes: { credential: true },
      resolve: ({ access }, _args, { viewer }) => ({ access, seenBy: viewer }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when it can be used.' }),
    createdBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'Who made it; null where they are a member no more, and then it gives nothing.',
      authScopes: { credential: true },
      resolve: async ({ createdBy }, _args, { services, viewer }) => {
        const member = createdBy === null ? null : await services.members.find(requireViewer(viewer), createdBy)
        return member && { member, seenBy: viewer }
      },
    }),
  }),
})

const CreateInvitePayload = builder.objectRef<{ invite: string; expiresAt: Date }>('CreateInvitePayload').implement({
  description: 'A new invite.',
  fields: t => ({
    invite: t.exposeString('invite', {
      description: 'To be given to one person, who registers with it. It is shown this once.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when it can be used.' }),
  }),
})

const CreateInviteInput = builder.inputType('CreateInviteInput', {
  description: 'What whoever uses the invite gets.',
  fields: t => ({
    role: t.field({ type: RoleEnum, required: true, description: 'At most your own.' }),
    providerAccess: t.field({ type: ProviderAccessInput, description: 'At most your own, which is the default.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'In the future; a week from now by default.' }),
  }),
})

builder.queryField('invites', t =>
  t.field({
    type: [InviteType],
    description: `Invites that were neither used nor have expired, and give no more than you could, the newest first, at most ${maxInvites}.`,
    authScopes: { keyManager: true, scope: 'admin' },
    complexity: { field: 1, multiplier: maxInvites },
    resolve: (_root, _args, { services, viewer }) => services.invites.list(viewer),
  }),
)

builder.mutationFields(t => ({
  createInvite: t.field({
    type: CreateInvitePayload,
    description: 'Makes an invite that one person can register with. One that a key made ends with the key.',
    audit: 'INVITE_CREATE',
    authScopes: { keyManager: true, scope: 'admin' },
    args: { input: t.arg({ type: CreateInviteInput, required: true, description: 'What the invite gives.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.invites.create(viewer, input),
  }),
  revokeInvite: t.boolean({
    description:
      'Takes an invite back that was not used yet and gives no more than you could. True once nobody can register with it.',
    audit: 'INVITE_REVOKE',
    authScopes: { keyManager: true, scope: 'admin' },
    args: { id: t.arg.id({ required: true, description: 'Of the invite.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.invites.revoke(viewer, id)
      return true
    },
  }),
}))
