import type { Identity } from '../../../db/identities.ts'
import type { IssuerExit } from '../../../services/people/issuer-logout.ts'
import { builder } from '../builder.ts'

const IdentityType = builder.objectRef<Identity>('Identity').implement({
  description: 'An account at an OpenID Connect issuer with which a member can sign in.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the link. It is not the subject at the issuer.' }),
    issuer: t.exposeString('issuer', { description: 'The address of the issuer.' }),
    email: t.exposeString('email', {
      nullable: true,
      description:
        'The email address that the issuer named when the identity was linked, or null. It finds no account.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time at which it was linked.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of the last sign-in with it, or null.',
    }),
  }),
})

const IssuerLogoutType = builder.objectRef<IssuerExit>('IssuerLogout').implement({
  description: 'The issuer with which your session began. You can sign out there, too.',
  fields: t => ({
    name: t.exposeString('name', { description: 'The name of the issuer.' }),
    url: t.string({
      description:
        'The address that sends your browser to the page of the issuer at which you sign out. It works for ten minutes, also after `logout`.',
      authScopes: { anySession: true },
      resolve: ({ ticket }, _args, { baseUrl }) => `${baseUrl}/auth/oidc/logout?ticket=${ticket}`,
    }),
  }),
})

builder.queryFields(t => ({
  issuerLogout: t.field({
    type: IssuerLogoutType,
    nullable: true,
    description:
      'Returns the issuer with which this session began, so that you can sign out there, too; null if it began otherwise, or if the issuer has no page to sign out.',
    authScopes: { anySession: true },
    resolve: (_root, _args, { services, viewer }) => services.issuerLogout.exitOf(viewer),
  }),
  identities: t.field({
    type: [IdentityType],
    description: 'Returns the accounts at issuers with which you can sign in, the oldest first, at most 20.',
    authScopes: { session: true },
    resolve: (_root, _args, { services, viewer }) => services.identities.list(viewer),
  }),
  memberIdentities: t.field({
    type: [IdentityType],
    description: 'Returns the accounts at issuers with which a member can sign in, the oldest first, at most 20.',
    authScopes: { workspace: 'admin' },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: (_root, { userId }, { services, viewer }) => services.identities.listOf(viewer, userId),
  }),
  identityLinkUrl: t.string({
    description:
      'Returns the address at which your browser begins to link an account at the issuer, within ten minutes. It then opens the profile with a ticket for `linkIdentity`.',
    authScopes: { session: true },
    args: {
      issuer: t.arg.id({ description: 'The ID of the issuer, as in `installation`. The default is the first.' }),
    },
    resolve: async (_root, { issuer }, { services, viewer, baseUrl }) => {
      const { link, issuerId } = await services.identities.start(viewer, issuer ?? null)
      return `${baseUrl}/auth/oidc/start?issuer=${issuerId}&link=${link}`
    },
  }),
}))

builder.mutationFields(t => ({
  linkIdentity: t.field({
    type: IdentityType,
    description:
      'Links an account at the issuer with yours. Only the session that asked for `identityLinkUrl` can do so.',
    audit: 'IDENTITY_LINK',
    authScopes: { session: true, recent: true },
    args: { ticket: t.arg.string({ required: true, description: 'The ticket in the address of the profile.' }) },
    resolve: (_root, { ticket }, { services, viewer }) => services.identities.link(viewer, ticket),
  }),
  unlinkIdentity: t.boolean({
    description: 'Removes one of your identities and ends the sessions that began with it. Returns true.',
    audit: 'IDENTITY_UNLINK',
    authScopes: { session: true, recent: true },
    args: { id: t.arg.id({ required: true, description: 'The ID of the identity.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.identities.unlink(viewer, id)
      return true
    },
  }),
  removeMemberIdentity: t.boolean({
    description:
      'Removes an identity of another member, whose role is at most your own, and ends the sessions that began with it, even if it is their only way to sign in. Returns true.',
    audit: 'IDENTITY_UNLINK',
    authScopes: { session: true, workspace: 'admin', recent: true },
    args: {
      userId: t.arg.id({ required: true, description: 'The user ID of the member.' }),
      id: t.arg.id({ required: true, description: 'The ID of the identity, as in `memberIdentities`.' }),
    },
    resolve: async (_root, { userId, id }, { services, viewer }) => {
      await services.identities.remove(viewer, userId, id)
      return true
    },
  }),
}))
