import { builder } from '../builder.ts'
import { ProviderAccessInput } from './provider-access.ts'
import { RoleEnum } from './role.ts'

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

builder.mutationField('createInvite', t =>
  t.field({
    type: CreateInvitePayload,
    description:
      'Makes an invite that one person can register with. Needs the scope `admin`, and a session or an unrestricted key; one that a key made ends with the key.',
    audit: 'INVITE_CREATE',
    authScopes: { credential: true },
    args: { input: t.arg({ type: CreateInviteInput, required: true, description: 'What the invite gives.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.members.invite(viewer, input),
  }),
)
