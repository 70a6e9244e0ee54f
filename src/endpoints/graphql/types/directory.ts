import type { SyncState } from '../../../db/directories.ts'
import type { ScimDirectory, ScimToken } from '../../../db/scim-tokens.ts'
import { maxScimDirectories, maxScimTokens } from '../../../services/people/scim/tokens.ts'
import { builder } from '../builder.ts'

const ScimDirectoryType = builder.objectRef<ScimDirectory>('ScimDirectory').implement({
  description: 'A directory that uses SCIM. It manages the users and groups that it has created, and no others.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the directory.' }),
    name: t.exposeString('name', { description: 'The name, which the audit log shows, too.' }),
    issuer: t.exposeString('issuer', {
      nullable: true,
      description:
        'The issuer of single sign-on at which the `externalId` of a user is their subject, so that they can sign in there. Null if it is none.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
  }),
})

const ScimTokenType = builder.objectRef<ScimToken>('ScimToken').implement({
  description:
    'A token with which a directory manages people and groups over SCIM. Its value is shown only when it is created.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the token. It is not the value.' }),
    name: t.exposeString('name', { description: 'The name, which says who uses it.' }),
    displayPrefix: t.exposeString('displayPrefix', { description: 'The first characters of the value.' }),
    directory: t.expose('directory', { type: ScimDirectoryType, description: 'The directory that uses the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of the last request, to the minute, or null.',
    }),
  }),
})

const LdapDirectory = builder.objectRef<SyncState>('LdapDirectory').implement({
  description: 'The LDAP directory with whose passwords people sign in.',
  fields: t => ({
    source: t.exposeString('source', { description: 'The name of the directory in the audit log.' }),
    readAt: t.expose('readAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which it was last read as a whole, or null.',
    }),
    people: t.exposeInt('people', { nullable: true, description: 'The number of people that it had then, or null.' }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Why the last reading failed or deactivated nobody, or null.',
    }),
  }),
})

const CreateScimTokenPayload = builder
  .objectRef<{ token: string; scimToken: ScimToken; url: string }>('CreateScimTokenPayload')
  .implement({
    description: 'A new token for SCIM.',
    fields: t => ({
      token: t.exposeString('token', {
        description: 'The value: `stw_scim_` and 40 hexadecimal characters. It is not shown again.',
      }),
      url: t.exposeString('url', { description: 'The address that the directory needs beside the token.' }),
      scimToken: t.expose('scimToken', { type: ScimTokenType, description: 'The token.' }),
    }),
  })

const CreateScimTokenInput = builder.inputType('CreateScimTokenInput', {
  description: 'A new token for SCIM.',
  fields: t => ({
    name: t.string({ required: true, description: 'The name, which says who uses it.' }),
    issuer: t.string({
      description:
        'An issuer of single sign-on at which the `externalId` of each user is their subject. New users can then sign in there at once. The default is none.',
    }),
    directoryId: t.id({
      description:
        'A directory that gets another token, such as to replace one. It keeps its users, groups and issuer. By default, the token is for a new directory with its name.',
    }),
  }),
})

const admin = { session: true, workspace: 'admin' } as const

builder.queryFields(t => ({
  ldapDirectory: t.field({
    type: LdapDirectory,
    nullable: true,
    description: 'Returns the state of the LDAP directory, or null if the server has none.',
    authScopes: { workspace: 'admin' },
    resolve: (_root, _args, { services, viewer }) => services.directories.ldap(viewer),
  }),
  scimDirectories: t.field({
    type: [ScimDirectoryType],
    description: `Returns the directories that use SCIM, the oldest first, at most ${maxScimDirectories}. One without a token stays while it has members or groups.`,
    authScopes: admin,
    resolve: (_root, _args, { services, viewer }) => services.scim.tokens.directories(viewer),
  }),
  scimTokens: t.field({
    type: [ScimTokenType],
    description: `Returns the tokens for SCIM, the newest first, at most ${maxScimTokens}.`,
    authScopes: admin,
    resolve: (_root, _args, { services, viewer }) => services.scim.tokens.list(viewer),
  }),
}))

builder.mutationFields(t => ({
  createScimToken: t.field({
    type: CreateScimTokenPayload,
    description: 'Creates a token with which a directory manages people and groups over SCIM.',
    audit: 'SCIM_TOKEN_CREATE',
    authScopes: { ...admin, recent: true },
    args: { input: t.arg({ type: CreateScimTokenInput, required: true, description: 'The token.' }) },
    resolve: async (_root, { input }, { services, viewer, baseUrl }) => ({
      ...(await services.scim.tokens.create(viewer, input)),
      url: `${baseUrl}/scim/v2`,
    }),
  }),
  revokeScimToken: t.boolean({
    description: 'Revokes a token for SCIM at once. The members and groups that it has created stay. Returns true.',
    audit: 'SCIM_TOKEN_REVOKE',
    authScopes: admin,
    args: { id: t.arg.id({ required: true, description: 'The ID of the token.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.scim.tokens.revoke(viewer, id)
      return true
    },
  }),
}))
