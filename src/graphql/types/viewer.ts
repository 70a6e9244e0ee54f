import { includedScopes } from '../../auth/scopes.ts'
import { requireViewer } from '../../auth/viewer.ts'
import { builder } from '../builder.ts'
import { ApiKeyRef, ProviderAccessRef, UserRef, ViewerRef, WorkspaceRef } from '../refs.ts'
import { ScopeEnum } from './scope.ts'

export const CredentialKind = builder.enumType('CredentialKind', {
  description: 'The two kinds of credentials.',
  values: {
    SESSION: { description: 'A session JWT, from `login` or `register`.' },
    API_KEY: { description: 'An API key, from `createApiKey`.' },
  } as const,
})

ViewerRef.implement({
  description: 'What a request acts as: a credential, cut by what its owner reaches today.',
  fields: t => ({
    kind: t.expose('kind', { type: CredentialKind, description: 'Of the credential.' }),
    user: t.field({
      type: UserRef,
      description: 'The owner of the credential.',
      resolve: viewer => ({ member: viewer.member, seenBy: viewer }),
    }),
    workspace: t.field({
      type: WorkspaceRef,
      description: 'The one that the credential is in.',
      authScopes: { credential: true },
      resolve: (viewer, _args, { services }) => services.workspaces.get(viewer),
    }),
    scopes: t.field({
      type: [ScopeEnum],
      description: "All that it may do, already narrowed by the owner's role.",
      resolve: viewer => includedScopes(viewer.scope),
    }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: "What it reaches, already narrowed by the owner's own access.",
      resolve: viewer => ({ access: viewer.access, seenBy: viewer }),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the credential ends by itself; null is never.',
    }),
    apiKey: t.field({
      type: ApiKeyRef,
      nullable: true,
      description: 'The key itself; null for a session.',
      authScopes: { credential: true },
      resolve: (viewer, _args, { services }) => services.apiKeys.own(viewer),
    }),
  }),
})

builder.queryField('viewer', t =>
  t.field({
    type: ViewerRef,
    description: 'What the credential of this request may do.',
    authScopes: { credential: true },
    resolve: (_root, _args, { viewer }) => requireViewer(viewer),
  }),
)
