/** Applications that connect with OAuth, and the consent of people to it. */
import type { Audience } from '../../../auth/access-tokens.ts'
import { requireViewer } from '../../../auth/viewer.ts'
import type { ApiKey } from '../../../db/api-keys.ts'
import type { ConsentRequest } from '../../../services/applications/consent.ts'
import { maxConnections } from '../../../services/applications/consent.ts'
import type { ConnectedApplication } from '../../../services/applications/index.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { ApiKeyRef } from '../refs.ts'
import { ProviderAccessInput, ScopeEnum } from './provider-access.ts'

const audiences: Record<Audience, { description: string }> = {
  SERVER: { description: 'All endpoints of the server.' },
  MCP: { description: 'The MCP endpoint alone.' },
}

const AudienceEnum = builder.enumType('TokenAudience', {
  description: 'The endpoints that accept the tokens of an application.',
  values: audiences,
})

const ConnectedApplicationType = builder.objectRef<ConnectedApplication>('ConnectedApplication').implement({
  description: 'The application of a connection, as it was when the person consented.',
  fields: t => ({
    clientId: t.exposeString('clientId', {
      description: 'The ID of its registration, or the address of its metadata document.',
    }),
    name: t.exposeString('clientName', { description: 'What the application calls itself.' }),
    destination: t.exposeString('destination', {
      description: 'Where its codes go: a host, or the scheme of an application on the machine of the person.',
    }),
    audience: t.expose('audience', { type: AudienceEnum, description: 'The endpoints that accept its tokens.' }),
    isConnected: t.exposeBoolean('isConnected', {
      description: 'False until the application has got its first tokens, which it has to do within a minute.',
    }),
  }),
})

builder.objectField(ApiKeyRef, 'application', t =>
  t.field({
    type: ConnectedApplicationType,
    nullable: true,
    description: 'The application, if the key is a connection to which a person has consented. Null for other keys.',
    authScopes: { credential: true },
    resolve: (key, _args, { services, viewer }) => services.applications.ofKey(requireViewer(viewer), key),
  }),
)

const ConsentRequestType = builder.objectRef<ConsentRequest>('ConsentRequest').implement({
  description: 'What an application asks a person for.',
  fields: t => ({
    name: t.exposeString('clientName', {
      description: 'What the application calls itself. Anybody can choose a name.',
    }),
    host: t.exposeString('clientHost', {
      nullable: true,
      description: 'The host that describes the application, or null if it has only registered itself.',
    }),
    destination: t.exposeString('destination', {
      description: 'Where the browser goes afterwards: a host, or the scheme of an application on this machine.',
    }),
    isOnMachine: t.exposeBoolean('isOnMachine', {
      description:
        'Whether that is a program on the machine of the person. Any program there can ask in the name of the application, also if a host describes it.',
    }),
    audience: t.expose('audience', { type: AudienceEnum, description: 'The endpoints that will accept its tokens.' }),
    scopes: t.expose('scopes', { type: [ScopeEnum], description: 'The scopes to choose from.' }),
    refusalUrl: t.exposeString('refusalUrl', {
      description: 'The address that tells the application that the person refuses.',
    }),
  }),
})

const ApproveConnectionInput = builder.inputType('ApproveConnectionInput', {
  description: 'The rights that the person gives to the application.',
  fields: t => ({
    query: t.string({ required: true, description: 'The query of the address that the application has opened.' }),
    scopes: t.field({
      type: [ScopeEnum],
      required: true,
      description: 'The highest of these is given. It is one of those that the application asks for.',
    }),
    providerAccess: t.field({
      type: ProviderAccessInput,
      description: 'The providers that the application may use. The default is your own access.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      required: true,
      description: 'The end of the connection, in the future. No refresh moves it.',
    }),
  }),
})

const ApproveConnectionPayload = builder
  .objectRef<{ returnUrl: string; apiKey: ApiKey }>('ApproveConnectionPayload')
  .implement({
    description: 'A new connection.',
    fields: t => ({
      returnUrl: t.exposeString('returnUrl', {
        description: 'The address that takes a code to the application. The code works once, within a minute.',
      }),
      apiKey: t.expose('apiKey', { type: ApiKeyRef, description: 'The connection in the list of keys.' }),
    }),
  })

builder.queryField('consentRequest', t =>
  t.field({
    type: ConsentRequestType,
    description:
      'Returns what an application asks for. If the request is invalid and the application can be told, the error has `returnUrl`, and `destination` says where that leads.',
    authScopes: { session: true },
    complexity: backEndCost,
    args: {
      query: t.arg.string({
        required: true,
        description: 'The query of the address that the application has opened, of at most 8,000 characters.',
      }),
    },
    resolve: (_root, { query }, { services, viewer, baseUrl, signal }) =>
      services.applications.consent.request(viewer, query, baseUrl, signal),
  }),
)

builder.mutationField('approveConnection', t =>
  t.field({
    type: ApproveConnectionPayload,
    description: `Connects an application, which gets an entry in the list of keys. A member has at most ${maxConnections} active connections.`,
    audit: 'CONNECTION_CREATE',
    authScopes: { session: true, recent: true },
    complexity: backEndCost,
    args: { input: t.arg({ type: ApproveConnectionInput, required: true, description: 'The rights to give.' }) },
    resolve: (_root, { input }, { services, viewer, baseUrl, signal }) =>
      services.applications.consent.approve(viewer, input, baseUrl, signal),
  }),
)
