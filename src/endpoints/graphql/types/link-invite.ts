/** Invites with which members link an account at an issuer, without signing in here. */
import type { InvitedMember } from '../../../services/people/link-invites.ts'
import { builder } from '../builder.ts'

const LinkInviteType = builder.objectRef<InvitedMember>('LinkInvite').implement({
  description: 'An invite to link an account at an issuer.',
  fields: t => ({
    email: t.exposeString('email', { description: 'The email address of the account in Stowage.' }),
    name: t.exposeString('name', { nullable: true, description: 'The display name of the account, or null.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time at which the invite expires.' }),
  }),
})

const CreateLinkInvitePayload = builder
  .objectRef<{ invite: string; expiresAt: Date }>('CreateLinkInvitePayload')
  .implement({
    description: 'A way for a member to link an account at an issuer.',
    fields: t => ({
      invite: t.exposeString('invite', { description: 'The code, which works once. It is not shown again.' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time at which the invite expires.' }),
    }),
  })

const inviteArgument = { required: true, description: 'The code of `createLinkInvite`.' } as const

builder.queryFields(t => ({
  linkInvite: t.field({
    type: LinkInviteType,
    description: 'Returns the account that an invite of `createLinkInvite` is for.',
    authScopes: { public: true },
    args: { invite: t.arg.string(inviteArgument) },
    resolve: (_root, { invite }, { services, origin }) => services.linkInvites.find(invite, origin),
  }),
  invitedLinkUrl: t.string({
    description:
      'Returns the address at which a browser begins to link an account at the issuer, within ten minutes. It then opens the page of the invite with a ticket for `linkInvitedIdentity`.',
    authScopes: { public: true },
    args: {
      invite: t.arg.string(inviteArgument),
      issuer: t.arg.id({ description: 'The ID of the issuer, as in `installation`. The default is the first.' }),
    },
    resolve: async (_root, { invite, issuer }, { services, origin, baseUrl }) => {
      const { link, issuerId } = await services.linkInvites.start(invite, issuer ?? null, origin)
      return `${baseUrl}/auth/oidc/start?issuer=${issuerId}&link=${link}`
    },
  }),
}))

builder.mutationFields(t => ({
  createLinkInvite: t.field({
    type: CreateLinkInvitePayload,
    description:
      'Creates an invite with which another member, whose role is at most your own, links an account at an issuer without signing in here. An earlier invite of the member ends. It works for three days, and ends when the role, the access or the second factors of the member change.',
    audit: 'LINK_INVITE_CREATE',
    authScopes: { session: true, workspace: 'admin', recent: true },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: (_root, { userId }, { services, viewer }) => services.linkInvites.create(viewer, userId),
  }),
  linkInvitedIdentity: t.boolean({
    description:
      'Links an account at the issuer with the member of an invite. It needs the invite and the ticket. Returns true; then sign in with the issuer.',
    audit: 'IDENTITY_LINK',
    authScopes: { public: true },
    args: {
      invite: t.arg.string(inviteArgument),
      ticket: t.arg.string({ required: true, description: 'The ticket in the address of the page of the invite.' }),
    },
    resolve: async (_root, input, { services, origin }) => {
      await services.linkInvites.accept(input, origin)
      return true
    },
  }),
}))
