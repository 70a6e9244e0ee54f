import { requireViewer } from '../../../auth/viewer.ts'
import type { ApiKey } from '../../../db/api-keys.ts'
import { s3Region } from '../../../http/s3-target.ts'
import {
  apiKeyState,
  type CreatedApiKey,
  maxActiveKeys,
  maxKeysPage,
  type S3Credentials,
} from '../../../services/people/api-keys.ts'
import { fingerprintOf } from '../../../services/people/ssh-public-keys.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { ApiKeyRef, ProviderAccessRef, UserRef } from '../refs.ts'
import { definePage, toPage } from './page.ts'
import { ProviderAccessInput, ScopeEnum } from './provider-access.ts'

const ApiKeyStateEnum = builder.enumType('ApiKeyState', {
  description:
    'The state of an API key. A key that is not active is refused with HTTP 401 and never becomes active again.',
  values: {
    active: { description: 'The key can be used.' },
    expired: { description: 'The key has reached its expiry date.' },
    revoked: { description: 'The key was revoked.' },
  } as const,
})

ApiKeyRef.implement({
  description:
    'A long-lived credential for scripts and integrations, or the connection of an application. The key value is shown only when the key is created.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the key. It is not the key value.' }),
    name: t.exposeString('name', { description: 'The display name.' }),
    displayPrefix: t.exposeString('displayPrefix', {
      description: 'The first 12 characters of the key value, or of each access token of a connection.',
    }),
    sshFingerprint: t.string({
      nullable: true,
      description: 'The fingerprint of the public key of SSH that opens SFTP with this key, or null.',
      resolve: ({ publicKey }) => publicKey && fingerprintOf(publicKey),
    }),
    scopes: t.expose('scopes', {
      type: [ScopeEnum],
      description: 'The scopes that the key was created with. The owner may have less access today.',
    }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: 'The provider access that the key was created with. The owner may have less access today.',
      authScopes: { credential: true },
      resolve: (key, _args, { viewer }) => ({ access: key.access, seenBy: viewer }),
    }),
    state: t.field({
      type: ApiKeyStateEnum,
      description: 'Whether the key can be used.',
      resolve: key => apiKeyState(key),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the key expires, or null if it does not.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the key was revoked, or null.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of the last request with this key, to the minute, or null if it was never used.',
    }),
    owner: t.field({
      type: UserRef,
      description: 'The person whom the key belongs to.',
      authScopes: { credential: true },
      resolve: async (key, _args, { services, viewer }) => ({
        member: await services.members.owner(requireViewer(viewer), key.userId),
        seenBy: viewer,
      }),
    }),
  }),
})

const ApiKeyConnection = definePage<ApiKey>('ApiKey', ApiKeyRef, 'API keys')

const S3CredentialsRef = builder.objectRef<S3Credentials>('S3Credentials').implement({
  description:
    'The credentials of an API key for programs that speak S3. They have exactly the access of the key and end with it.',
  fields: t => ({
    accessKeyId: t.exposeString('accessKeyId', { description: 'The access key ID, which names the API key.' }),
    secretAccessKey: t.exposeString('secretAccessKey', {
      description: 'The secret access key: `stw_s3_` and 40 hexadecimal characters. It is not shown again.',
    }),
    endpoint: t.string({
      authScopes: { credential: true },
      description: 'The URL of the S3 endpoint, for path-style requests.',
      resolve: (_credentials, _args, context) => context.s3Endpoint,
    }),
    region: t.string({
      description: 'The region to configure. The server accepts any.',
      resolve: () => s3Region,
    }),
  }),
})

const CreateApiKeyPayload = builder.objectRef<CreatedApiKey>('CreateApiKeyPayload').implement({
  description: 'A new API key.',
  fields: t => ({
    apiKey: t.expose('apiKey', { type: ApiKeyRef, description: 'The key without its value.' }),
    key: t.exposeString('key', {
      description: 'The key value: `stw_` and 40 hexadecimal characters. It is not shown again.',
    }),
    s3: t.expose('s3', { type: S3CredentialsRef, description: 'The credentials for programs that speak S3.' }),
  }),
})

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'The name, scopes and provider access of a new key.',
  fields: t => ({
    name: t.string({ required: true, description: 'The display name, with 1 to 200 characters.' }),
    scopes: t.field({
      type: [ScopeEnum],
      required: true,
      description: 'At least one scope. Each scope includes those below it, so the highest is enough.',
    }),
    providerAccess: t.field({
      type: ProviderAccessInput,
      description: 'The providers that the key may use. The default is the access of its owner.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'The expiry date, in the future. Without it, the key is valid until it is revoked.',
    }),
    publicKey: t.string({
      description:
        'A public key of SSH, such as the line of `id_ed25519.pub`. Its holder opens SFTP with the rights of this key, without the key value. The user name is the email of its owner.',
    }),
    ofUser: t.id({
      description:
        'The ID of a service account that gets the key, which requires the scope `admin` on all providers. The default is you.',
    }),
  }),
})

builder.queryFields(t => ({
  apiKeys: t.field({
    type: ApiKeyConnection,
    description: "Returns one person's API keys, newest first.",
    authScopes: { keyManager: true },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of keys, 1 to ${maxKeysPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
      ofUser: t.arg.id({
        description: 'The ID of another member, which requires the scope `admin` on all providers. The default is you.',
      }),
      includeInactive: t.arg.boolean({
        defaultValue: true,
        description: 'Whether to include expired and revoked keys.',
      }),
      connections: t.arg.boolean({
        description: 'True for the connections of applications alone, false for other keys alone. The default is both.',
      }),
    },
    complexity: ({ first }) => connectionCost(first, maxKeysPage),
    resolve: async (_root, { first, after, ofUser, includeInactive, connections }, { services, viewer }) => {
      const query = { ofUser, includeInactive: includeInactive ?? true, connections: connections ?? null }
      const page = await services.apiKeys.list(viewer, query, { first: first ?? 50, after })
      return toPage(page, after, ({ key }) => key)
    },
  }),
  apiKey: t.field({
    type: ApiKeyRef,
    description: "Returns one API key: your own or, with the scope `admin` on all providers, another member's.",
    authScopes: { keyManager: true },
    args: { id: t.arg.id({ required: true, description: 'The ID of the key.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.apiKeys.get(viewer, id),
  }),
}))

builder.mutationFields(t => ({
  createApiKey: t.field({
    type: CreateApiKeyPayload,
    description: `Creates an API key for yourself or for a service account. It never has more access than its owner, who can have ${maxActiveKeys} active keys.`,
    audit: 'API_KEY_CREATE',
    authScopes: { keyManager: true, recent: true },
    args: {
      input: t.arg({
        type: CreateApiKeyInput,
        required: true,
        description: 'The name, scopes and provider access of the key.',
      }),
    },
    resolve: (_root, { input }, { services, viewer }) => services.apiKeys.create(viewer, input),
  }),
  renameApiKey: t.field({
    type: ApiKeyRef,
    description: 'Changes the name of an API key.',
    audit: 'API_KEY_RENAME',
    authScopes: { keyManager: true },
    args: {
      id: t.arg.id({ required: true, description: 'The ID of the key.' }),
      name: t.arg.string({ required: true, description: 'The new name, with 1 to 200 characters.' }),
    },
    resolve: (_root, { id, name }, { services, viewer }) => services.apiKeys.rename(viewer, id, name),
  }),
  revokeApiKey: t.field({
    type: ApiKeyRef,
    description: 'Revokes an API key immediately and permanently.',
    audit: 'API_KEY_REVOKE',
    authScopes: { keyManager: true },
    args: { id: t.arg.id({ required: true, description: 'The ID of the key.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.apiKeys.revoke(viewer, id),
  }),
}))
