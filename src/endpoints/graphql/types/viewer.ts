import { includedScopes } from '../../../auth/scopes.ts'
import { requireViewer } from '../../../auth/viewer.ts'
import { builder } from '../builder.ts'
import { ApiKeyRef, ProviderAccessRef, UserRef, ViewerRef, WorkspaceRef } from '../refs.ts'
import { ScopeEnum } from './scope.ts'

export const CredentialKind = builder.enumType('CredentialKind', {
  description: 'The kinds of credentials.',
  values: {
    SESSION: { description: 'A session JWT, from `login` or `register`.' },
    API_KEY: { description: 'An API key, from `createApiKey`.' },
    SHARE: { description: 'A share link, from `createShare`. It is no credential of this API.' },
  } as const,
})

ViewerRef.implement({
  description: 'The credential of a request, limited to what its owner can access today.',
  fields: t => ({
    kind: t.expose('kind', { type: CredentialKind, description: 'The kind of the credential.' }),
    user: t.field({
      type: UserRef,
      description: 'The owner of the credential.',
      resolve: viewer => ({ member: viewer.member, seenBy: viewer }),
    }),
    workspace: t.field({
      type: WorkspaceRef,
      description: 'The workspace that the credential belongs to.',
      authScopes: { credential: true },
      resolve: (viewer, _args, { services }) => services.workspaces.get(viewer),
    }),
    scopes: t.field({
      type: [ScopeEnum],
      description: "All scopes of the credential, limited by the owner's role.",
      resolve: viewer => includedScopes(viewer.scope),
    }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: "The providers that the credential can access, limited by the owner's access.",
      resolve: viewer => ({ access: viewer.access, seenBy: viewer }),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the credential expires, or null if it does not.',
    }),
    apiKey: t.field({
      type: ApiKeyRef,
      nullable: true,
      description: 'The API key, or null for a session.',
      authScopes: { credential: true },
      resolve: (viewer, _args, { services }) => services.apiKeys.own(viewer),
    }),
  }),
})

builder.queryField('viewer', t =>
  t.field({
    type: ViewerRef,
    description: 'Returns what the credential of this request may do.',
    authScopes: { credential: true },
    resolve: (_root, _args, { viewer }) => requireViewer(viewer),
  }),
)
