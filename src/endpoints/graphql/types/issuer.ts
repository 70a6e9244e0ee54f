import type { IssuerPrompt } from '../../../db/schema.ts'
import {
  type ConfiguredIssuer,
  maxDomains,
  maxIssuers,
  maxMaxAge,
  maxRuleGroups,
} from '../../../services/people/issuers.ts'
import { builder } from '../builder.ts'
import { groupsCost } from '../cost.ts'
import { GroupRef } from '../refs.ts'

const IssuerPromptEnum = builder.enumType('IssuerPrompt', {
  description: 'What an issuer asks of people who are already signed in there.',
  values: {
    DEFAULT: { description: 'The issuer decides what it asks.' },
    LOGIN: { description: 'They sign in again.' },
    SELECT_ACCOUNT: { description: 'They choose one of their accounts.' },
    CONSENT: { description: 'They consent to the sign-in.' },
  } as const satisfies Record<IssuerPrompt, object>,
})

const ConfiguredIssuerType = builder.objectRef<ConfiguredIssuer>('Issuer').implement({
  description: 'An OpenID Connect issuer with which people sign in, as administrators see it.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the issuer here.' }),
    name: t.exposeString('name', { description: 'The name on the button of the sign-in page.' }),
    issuer: t.exposeString('issuer', { description: 'The address of the issuer.' }),
    clientId: t.exposeString('clientId', { description: 'The ID of Stowage as a client of the issuer.' }),
    groupsClaim: t.exposeString('groupsClaim', {
      nullable: true,
      description: 'The claim with the names of groups, or null if groups do not follow the issuer.',
    }),
    domains: t.field({
      type: ['String'],
      description: 'A person whose verified email is in one of these domains gets an account at their first sign-in.',
      resolve: ({ domains }) => [...domains],
    }),
    groups: t.field({
      type: [GroupRef],
      description: 'The groups that such an account joins.',
      authScopes: { workspace: 'admin' },
      complexity: groupsCost,
      resolve: async (issuer, _args, { services, viewer }) =>
        (await services.issuers.groupsOf(viewer, issuer)).map(group => ({ group, seenBy: viewer })),
    }),
    redirectUri: t.string({
      description: 'The redirect URI to register at the issuer. No other issuer has it.',
      authScopes: { workspace: 'admin' },
      resolve: ({ callbackPath }, _args, { baseUrl }) => baseUrl + callbackPath,
    }),
    prompt: t.expose('prompt', { type: IssuerPromptEnum, description: 'What the issuer asks at each sign-in.' }),
    maxAgeMinutes: t.exposeInt('maxAgeMinutes', {
      description: 'The minutes after which the issuer has to ask again who somebody is, or 0 for no limit.',
    }),
    enabled: t.exposeBoolean('isEnabled', { description: 'Whether people can sign in with it.' }),
    isFromSettings: t.exposeBoolean('isFromSettings', {
      description: 'Whether the operator has set it with STOWAGE_OIDC_ISSUER. It cannot be changed here.',
    }),
    isReplaced: t.exposeBoolean('isReplaced', {
      description: 'Whether the operator has set the same issuer, which replaces this one with its domains and groups.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which it was added, or null for the issuer of the settings.',
    }),
  }),
})

const rules = {
  prompt: 'What the issuer asks at each sign-in. By default, it decides itself.',
  maxAgeMinutes: `The minutes, at most ${maxMaxAge}, after which the issuer has to ask again who somebody is; 0 for no limit.`,
  groupsClaim:
    'The claim of ID tokens with the names of groups, such as `groups`. If it is empty, groups do not follow the issuer.',
  domains: `The domains, at most ${maxDomains}, in which a verified email gives an account at the first sign-in.`,
  groupIds: `The IDs of the groups, at most ${maxRuleGroups}, that such an account joins.`,
}

const CreateIssuerInput = builder.inputType('CreateIssuerInput', {
  description: 'A new issuer of single sign-on.',
  fields: t => ({
    name: t.string({ required: true, description: 'The name on the button, unique, with 1 to 200 characters.' }),
    issuer: t.string({
      required: true,
      description: 'The address, exactly as it appears in the metadata of the issuer. It cannot be changed later.',
    }),
    clientId: t.string({ required: true, description: 'The ID of Stowage as a client of the issuer.' }),
    clientSecret: t.string({ required: true, description: 'The secret of this client. It cannot be read again.' }),
    groupsClaim: t.string({ description: rules.groupsClaim }),
    domains: t.stringList({ description: rules.domains }),
    groupIds: t.idList({ description: rules.groupIds }),
    prompt: t.field({ type: IssuerPromptEnum, description: rules.prompt }),
    maxAgeMinutes: t.int({ description: rules.maxAgeMinutes }),
    enabled: t.boolean({ description: 'Whether people can sign in with it. The default is true.' }),
  }),
})

const UpdateIssuerInput = builder.inputType('UpdateIssuerInput', {
  description: 'Changes to an issuer. Omitted fields do not change.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the issuer.' }),
    name: t.string({ description: 'The new name, with 1 to 200 characters.' }),
    clientId: t.string({ description: 'The new ID of the client.' }),
    clientSecret: t.string({ description: 'The new secret of the client.' }),
    groupsClaim: t.string({ description: rules.groupsClaim }),
    domains: t.stringList({ description: rules.domains }),
    groupIds: t.idList({ description: rules.groupIds }),
    prompt: t.field({ type: IssuerPromptEnum, description: rules.prompt }),
    maxAgeMinutes: t.int({ description: rules.maxAgeMinutes }),
    enabled: t.boolean({
      description: 'Whether people can sign in with it. Disabling it ends the sessions that began with it.',
    }),
  }),
})

const TestIssuerInput = builder.inputType('TestIssuerInput', {
  description:
    'Settings of an issuer that is stored or not. With an ID, omitted fields are those of the stored issuer.',
  fields: t => ({
    id: t.id({ description: 'The ID of a stored issuer, whose address cannot be replaced.' }),
    issuer: t.string({ description: 'The address of an issuer that is not stored.' }),
    clientId: t.string({ description: 'The ID of the client.' }),
    clientSecret: t.string({ description: 'The secret of the client.' }),
    groupsClaim: t.string({ description: rules.groupsClaim }),
    domains: t.stringList({ description: rules.domains }),
    groupIds: t.idList({ description: rules.groupIds }),
    prompt: t.field({ type: IssuerPromptEnum, description: rules.prompt }),
    maxAgeMinutes: t.int({ description: rules.maxAgeMinutes }),
  }),
})

builder.queryField('issuers', t =>
  t.field({
    type: [ConfiguredIssuerType],
    description: 'Returns the issuers of single sign-on, including disabled ones. That of the settings comes first.',
    authScopes: { workspace: 'admin' },
    complexity: () => ({ field: 1, multiplier: maxIssuers }),
    resolve: (_root, _args, { services, viewer }) => services.issuers.list(viewer),
  }),
)

builder.mutationFields(t => ({
  createIssuer: t.field({
    type: ConfiguredIssuerType,
    description: `Adds an issuer with which people can sign in. Only owners can add one, and only in a session. A workspace has at most ${maxIssuers} issuers.`,
    audit: 'ISSUER_CREATE',
    authScopes: { session: true, workspace: 'admin' },
    args: { input: t.arg({ type: CreateIssuerInput, required: true, description: 'The issuer.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.issuers.create(viewer, input),
  }),
  updateIssuer: t.field({
    type: ConfiguredIssuerType,
    description: 'Changes, enables or disables an issuer. Only owners can do this, and only in a session.',
    audit: 'ISSUER_UPDATE',
    authScopes: { session: true, workspace: 'admin' },
    args: { input: t.arg({ type: UpdateIssuerInput, required: true, description: 'The issuer and the changes.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.issuers.update(viewer, input),
  }),
  testIssuer: t.string({
    description:
      'Returns the address at which your browser begins a test sign-in within ten minutes. It shows what the issuer says about you and what a sign-in would do, and changes nothing.',
    audit: 'ISSUER_TEST',
    authScopes: { session: true, workspace: 'admin' },
    args: { input: t.arg({ type: TestIssuerInput, required: true, description: 'The settings to test.' }) },
    resolve: async (_root, { input }, { services, viewer, baseUrl }) =>
      `${baseUrl}/auth/oidc/start?test=${await services.singleSignOn.startTest(viewer, input)}`,
  }),
  deleteIssuer: t.boolean({
    description:
      'Removes an issuer with its identities, and ends the sessions that began with it. Accounts stay. Only owners can do this, and only in a session. Returns true.',
    audit: 'ISSUER_DELETE',
    authScopes: { session: true, workspace: 'admin' },
    args: { id: t.arg.id({ required: true, description: 'The ID of the issuer.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.issuers.delete(viewer, id)
      return true
    },
  }),
}))
