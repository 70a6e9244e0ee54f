import { needs } from '../../../auth/needs.ts'
import type { ProviderRecord } from '../../../db/providers.ts'
import {
  defaultFilesAtOnce,
  maxFilesAtOnce,
  maxTrashDays,
  maxVersionCount,
  maxVersionDays,
  minBytesPerSecond,
  slugRule,
} from '../../../services/providers/settings.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { StorageProviderRef } from '../refs.ts'
import { at } from '../rules.ts'
import { CatalogueModeEnum } from './catalogue.ts'
import { EncryptionInputType } from './encryption.ts'

/** Mutations that connect, change and disconnect providers. */

const ConnectProviderPayload = builder
  .objectRef<{ provider: ProviderRecord; authorizationUrl: string | null }>('ConnectProviderPayload')
  .implement({
    description: 'A newly connected provider.',
    fields: t => ({
      provider: t.expose('provider', { type: StorageProviderRef, description: 'The provider.' }),
      authorizationUrl: t.exposeString('authorizationUrl', {
        nullable: true,
        description:
          'The page on which a person gives consent, if the type requires it: see `AuthorizeProviderPayload`. Otherwise null.',
      }),
    }),
  })

const AuthorizeProviderPayload = builder.objectRef<{ authorizationUrl: string }>('AuthorizeProviderPayload').implement({
  description: 'The start of an OAuth consent.',
  fields: t => ({
    authorizationUrl: t.exposeString('authorizationUrl', {
      description:
        'A page of this server. Open it in a browser within ten minutes. It says who asks for consent and links to the storage service. The consent must be completed in the same browser.',
    }),
  }),
})

const versionCount = `The maximum number of earlier versions of a file, 0 to ${maxVersionCount}; 0 keeps none, and null is the setting of the server where a version takes no copy, and 0 elsewhere.`
const versionDays = `The number of days that earlier versions are kept, 1 to ${maxVersionDays}; null is the setting of the server. Those that are kept already keep their time.`

const ConnectProviderInput = builder.inputType('ConnectProviderInput', {
  description: 'The back end to connect.',
  fields: t => ({
    type: t.string({ required: true, description: 'The type: one of `providerTypes`.' }),
    name: t.string({ required: true, description: 'The display name, with 1 to 200 characters.' }),
    slug: t.string({
      description: `The name in the addresses of WebDAV and S3, with ${slugRule}. By default, it is made from the name.`,
    }),
    config: t.field({
      type: 'JSON',
      required: true,
      description: "The configuration, which must match the type's `configSchema`.",
    }),
    versionCount: t.int({ description: versionCount }),
    versionDays: t.int({ description: versionDays }),
    encryption: t.field({
      type: EncryptionInputType,
      description:
        'Encrypts everything that the back end stores. By default, nothing is encrypted. It cannot change later.',
    }),
  }),
})

const JobLimitsInput = builder.inputType('JobLimitsInput', {
  description: 'The limits of all jobs together at a provider. Running jobs follow a change within seconds.',
  fields: t => ({
    filesAtOnce: t.int({
      defaultValue: defaultFilesAtOnce,
      description: `The number of files that they work on at once, 1 to ${maxFilesAtOnce}.`,
    }),
    bytesPerSecond: t.field({
      type: 'SafeInt',
      description: `The bytes per second that pass through the servers, at least ${minBytesPerSecond}. Null is no limit. Copies that a back end makes by itself do not count.`,
    }),
  }),
})

const UpdateProviderInput = builder.inputType('UpdateProviderInput', {
  description: 'Changes to a provider. Omitted fields do not change.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the provider.' }),
    name: t.string({ description: 'The new name, with 1 to 200 characters.' }),
    slug: t.string({
      description: `The new name in the addresses of WebDAV and S3, with ${slugRule}. The old addresses stop working at once.`,
    }),
    config: t.field({
      type: 'JSON',
      description:
        'The properties to replace. Null removes a property; omitted properties do not change. If you change a property that is not marked `keepsSecrets` in the `configSchema`, include all secrets again; an OAuth consent then ends.',
    }),
    jobLimits: t.field({ type: JobLimitsInput, description: 'The new limits, which replace both limits.' }),
    catalogueMode: t.field({
      type: CatalogueModeEnum,
      description: 'How much the catalogue of the provider contains, for the search. OFF removes its entries.',
    }),
    trashDays: t.int({
      description: `The number of days that deleted files stay in the trash, 0 to ${maxTrashDays}; 0 deletes them at once, and null returns to the setting of the server. Entries that are already in the trash keep their time.`,
    }),
    versionCount: t.int({ description: versionCount }),
    versionDays: t.int({ description: versionDays }),
  }),
})

builder.mutationFields(t => ({
  connectProvider: t.field({
    type: ConnectProviderPayload,
    description: 'Tests a back end and connects it if the test succeeds.',
    audit: 'PROVIDER_CONNECT',
    authScopes: { workspace: 'admin' },
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
    description:
      'Changes the names, the configuration or the limits of a provider. A new configuration is tested first, and in a session requires that `confirmIdentity` or a sign-in is at most ten minutes old.',
    audit: 'PROVIDER_UPDATE',
    authScopes: at(needs.manageProvider),
    complexity: backEndCost,
    args: { input: t.arg({ type: UpdateProviderInput, required: true, description: 'The changes.' }) },
    resolve: async (_root, { input }, context) => {
      const provider = await context.services.providers.update(context.viewer, {
        ...input,
        jobLimits: input.jobLimits && {
          filesAtOnce: input.jobLimits.filesAtOnce ?? defaultFilesAtOnce,
          bytesPerSecond: input.jobLimits.bytesPerSecond ?? null,
        },
      })
      context.forgetProviders()
      return provider
    },
  }),
  disconnectProvider: t.boolean({
    description: 'Disconnects a provider. The files at the back end are not deleted. Returns true.',
    audit: 'PROVIDER_DISCONNECT',
    authScopes: at(needs.manageProvider),
    args: { id: t.arg.id({ required: true, description: 'The ID of the provider.' }) },
    resolve: async (_root, { id }, context) => {
      await context.services.providers.disconnect(context.viewer, id)
      context.forgetProviders()
      return true
    },
  }),
  authorizeProvider: t.field({
    type: AuthorizeProviderPayload,
    description: 'Starts or restarts the OAuth consent of a provider that requires one.',
    audit: 'PROVIDER_AUTHORIZE',
    authScopes: at(needs.manageProvider),
    complexity: backEndCost,
    args: { id: t.arg.id({ required: true, description: 'The ID of the provider.' }) },
    resolve: async (_root, { id }, { services, viewer, baseUrl }) => ({
      authorizationUrl: await services.authorization.authorize(viewer, id, baseUrl),
    }),
  }),
  testProvider: t.field({
    type: StorageProviderRef,
    description: 'Tests the back end now and updates the status.',
    audit: 'PROVIDER_TEST',
    authScopes: at(needs.manageProvider),
    complexity: backEndCost,
    args: { id: t.arg.id({ required: true, description: 'The ID of the provider.' }) },
    resolve: async (_root, { id }, context) => {
      const provider = await context.services.providers.test(context.viewer, id)
      context.forgetProviders()
      return provider
    },
  }),
}))
