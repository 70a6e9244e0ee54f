import { needs } from '../../auth/needs.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { StorageProviderRef } from '../refs.ts'
import { at } from '../rules.ts'

/** Connecting, changing and disconnecting providers. */

const ConnectProviderPayload = builder
  .objectRef<{ provider: ProviderRecord; authorizationUrl: string | null }>('ConnectProviderPayload')
  .implement({
    description: 'A newly connected provider.',
    fields: t => ({
      provider: t.expose('provider', { type: StorageProviderRef, description: 'The provider.' }),
      authorizationUrl: t.exposeString('authorizationUrl', {
        nullable: true,
        description:
          'Where a person gives consent, for a type that needs it: see `AuthorizeProviderPayload`. Null where nothing is left to do.',
      }),
    }),
  })

const AuthorizeProviderPayload = builder.objectRef<{ authorizationUrl: string }>('AuthorizeProviderPayload').implement({
  description: 'The beginning of an OAuth consent.',
  fields: t => ({
    authorizationUrl: t.exposeString('authorizationUrl', {
      description:
        'A page of this server, to be opened in a browser within ten minutes: it says who asks, and leads to the storage service. The consent counts only in that browser.',
    }),
  }),
})

const ConnectProviderInput = builder.inputType('ConnectProviderInput', {
  description: 'A back end.',
  fields: t => ({
    type: t.string({ required: true, description: 'One of `providerTypes`.' }),
    name: t.string({ required: true, description: 'For people, 1 to 200 characters.' }),
    config: t.field({ type: 'JSON', required: true, description: "As the type's `configSchema` says." }),
  }),
})

const UpdateProviderInput = builder.inputType('UpdateProviderInput', {
  description: 'What is left out stays as it is.',
  fields: t => ({
    id: t.id({ required: true, description: 'Of the provider.' }),
    name: t.string({ description: '1 to 200 characters.' }),
    config: t.field({
      type: 'JSON',
      description:
        'Properties it names are replaced, null removes one, the rest stays. If a property changes that is not marked `keepsSecrets` in the `configSchema`, name all secrets again; an OAuth consent ends then.',
    }),
  }),
})

builder.mutationFields(t => ({
  connectProvider: t.field({
    type: ConnectProviderPayload,
    description: 'Connects a back end, once it has been found to work.',
    audit: 'PROVIDER_CONNECT',
    authScopes: { everyProvider: 'admin' },
    complexity: backEndCost,
    args: { input: t.arg({ type: ConnectProviderInput, required: true, description: 'The back end.' }) },
    resolve: async (_root, { input }, context) => {
      const provider = await context.services.providers.connect(context.viewer, { ...input, config: input.config })
      context.forgetProviders()
      const { services, viewer } = context
      const awaitsConsent = provider.status === 'NEEDS_AUTHORIZATION'
      return {
        provider,
        authorizationUrl: awaitsConsent
          ? await services.authorization.authorize(viewer, provider.id, context.baseUrl)
          : null,
      }
    },
  }),
  updateProvider: t.field({
    type: StorageProviderRef,
    description: 'Changes the name or the configuration, which is tried first.',
    audit: 'PROVIDER_UPDATE',
    authScopes: at(needs.manageProvider),
    complexity: backEndCost,
    args: { input: t.arg({ type: UpdateProviderInput, required: true, description: 'What to change.' }) },
    resolve: async (_root, { input }, context) => {
      const provider = await context.services.providers.update(context.viewer, input)
      context.forgetProviders()
      return provider
    },
  }),
  disconnectProvider: t.boolean({
    description: 'Forgets a provider; what is stored at the back end stays there. True once it is gone.',
    audit: 'PROVIDER_DISCONNECT',
    authScopes: at(needs.manageProvider),
    args: { id: t.arg.id({ required: true, description: 'Of the provider.' }) },
    resolve: async (_root, { id }, context) => {
      await context.services.providers.disconnect(context.viewer, id)
      context.forgetProviders()
      return true
    },
  }),
  authorizeProvider: t.field({
    type: AuthorizeProviderPayload,
    description: 'Starts (or starts again) the OAuth consent of a provider that needs one.',
    audit: 'PROVIDER_AUTHORIZE',
    authScopes: at(needs.manageProvider),
    complexity: backEndCost,
    args: { id: t.arg.id({ required: true, description: 'Of the provider.' }) },
    resolve: async (_root, { id }, { services, viewer, baseUrl }) => ({
      authorizationUrl: await services.authorization.authorize(viewer, id, baseUrl),
    }),
  }),
  testProvider: t.field({
    type: StorageProviderRef,
    description: 'Asks the back end now, and keeps what it says as the status.',
    audit: 'PROVIDER_TEST',
    authScopes: at(needs.manageProvider),
    complexity: backEndCost,
    args: { id: t.arg.id({ required: true, description: 'Of the provider.' }) },
    resolve: async (_root, { id }, context) => {
      const provider = await context.services.providers.test(context.viewer, id)
      context.forgetProviders()
      return provider
    },
  }),
}))
