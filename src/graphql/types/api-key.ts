import { requireViewer } from '../../auth/viewer.ts'
import type { ApiKey } from '../../db/api-keys.ts'
import { apiKeyState, maxActiveKeys, maxKeysPage } from '../../services/people/api-keys.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { ApiKeyRef, ProviderAccessRef, UserRef } from '../refs.ts'
import { definePage } from './page.ts'
import { ProviderAccessInput } from './provider-access.ts'
import { ScopeEnum } from './scope.ts'

const ApiKeyStateEnum = builder.enumType('ApiKeyState', {
  description: 'A key that is not active is refused with HTTP 401, and never becomes active again.',
  values: {
    active: { description: 'It can be used.' },
    expired: { description: 'It has reached its expiry date.' },
    revoked: { description: 'It was revoked.' },
  } as const,
})

ApiKeyRef.implement({
  description: 'A long-lived credential for scripts and integrations. The key value itself is never shown again.',
  fields: t => ({
    id: t.exposeID('id', { description: 'Stays the same for good; not the key value.' }),
    name: t.exposeString('name', { description: 'For people.' }),
    displayPrefix: t.exposeString('displayPrefix', { description: 'The first 12 characters of the key value.' }),
    scopes: t.expose('scopes', {
      type: [ScopeEnum],
      description: 'As given at creation; its owner may reach less today.',
    }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: 'As given at creation; its owner may reach less today.',
      authScopes: { credential: true },
      resolve: (key, _args, { viewer }) => ({ access: key.access, seenBy: viewer }),
    }),
    state: t.field({ type: ApiKeyStateEnum, description: 'Whether it can be used.', resolve: key => apiKeyState(key) }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it expires; null is never.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was revoked; null where it was not.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a request last came with it, kept to the minute; null is never.',
    }),
    owner: t.field({
      type: UserRef,
      description: 'Whose key it is.',
      authScopes: { credential: true },
      resolve: async (key, _args, { services, viewer }) => ({
        member: await services.members.owner(requireViewer(viewer), key.userId),
        seenBy: viewer,
      }),
    }),
  }),
})

const ApiKeyConnection = definePage<ApiKey>('ApiKey', ApiKeyRef, 'API keys')

const CreateApiKeyPayload = builder.objectRef<{ apiKey: ApiKey; key: string }>('CreateApiKeyPayload').implement({
  description: 'A new key.',
  fields: t => ({
    apiKey: t.expose('apiKey', { type: ApiKeyRef, description: 'What is kept of it.' }),
    key: t.exposeString('key', {
      description: 'The key value, `stw_` and 40 hexadecimal characters. Shown this once.',
    }),
  }),
})

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'What a new key may do.',
  fields: t => ({
    name: t.string({ required: true, description: 'For people, 1 to 200 characters.' }),
    scopes: t.field({
      type: [ScopeEnum],
      required: true,
      description: 'At least one; the highest is enough, as each includes those below it.',
    }),
    providerAccess: t.field({ type: ProviderAccessInput, description: 'All that you reach, unless it is given.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'In the future; without it, valid until revoked.' }),
  }),
})

builder.queryFields(t => ({
  apiKeys: t.field({
    type: ApiKeyConnection,
    description: 'The keys of one person, the newest first.',
    authScopes: { keyManager: true },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `How many at most, 1 to ${maxKeysPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page begins.' }),
      ofUser: t.arg.id({ description: 'Of another member, with the scope `admin`; your own unless it is given.' }),
      includeInactive: t.arg.boolean({
        defaultValue: true,
        description: 'Whether expired and revoked ones are listed.',
      }),
    },
    complexity: ({ first }) => connectionCost(first, maxKeysPage),
    resolve: async (_root, { first, after, ofUser, includeInactive }, { services, viewer }) => {
      const query = { ofUser, includeInactive: includeInactive ?? true }
      const page = await services.apiKeys.list(viewer, query, { first: first ?? 50, after })
      return {
        edges: page.items.map(({ key, cursor }) => ({ node: key, cursor })),
        hasNext: page.hasNext,
        hasPrevious: after != null,
      }
    },
  }),
  apiKey: t.field({
    type: ApiKeyRef,
    description: 'One key: your own, or with the scope `admin` that of a member.',
    authScopes: { keyManager: true },
    args: { id: t.arg.id({ required: true, description: 'Of the key.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.apiKeys.get(viewer, id),
  }),
}))

builder.mutationFields(t => ({
  createApiKey: t.field({
    type: CreateApiKeyPayload,
    description: `Makes a key of your own, which never exceeds you; at most ${maxActiveKeys} can be active.`,
    audit: 'API_KEY_CREATE',
    authScopes: { keyManager: true },
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'What the key may do.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.apiKeys.create(viewer, input),
  }),
  renameApiKey: t.field({
    type: ApiKeyRef,
    description: 'Changes the name of a key, and nothing else.',
    audit: 'API_KEY_RENAME',
    authScopes: { keyManager: true },
    args: {
      id: t.arg.id({ required: true, description: 'Of the key.' }),
      name: t.arg.string({ required: true, description: '1 to 200 characters.' }),
    },
    resolve: (_root, { id, name }, { services, viewer }) => services.apiKeys.rename(viewer, id, name),
  }),
  revokeApiKey: t.field({
    type: ApiKeyRef,
    description: 'Ends a key, at once and for good.',
    audit: 'API_KEY_REVOKE',
    authScopes: { keyManager: true },
    args: { id: t.arg.id({ required: true, description: 'Of the key.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.apiKeys.revoke(viewer, id),
  }),
}))
