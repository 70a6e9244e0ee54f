/**
 * Providers, as administrators connect, change and disconnect them. A type, a configuration and settings enter. They are tested
 * at the back end and stored encrypted, and providers without their secrets leave.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { ConfigSchema, Quota } from '../../../adapters/contract.ts'
import { basePathsIn, includesPath } from '../../auth/access.ts'
import { authorize, needs } from '../../auth/needs.ts'
import { root } from '../../auth/path.ts'
import { grantBasePaths, requireRecent, requireScope, requireWorkspaceAdmin } from '../../auth/policy.ts'
import { includesScope } from '../../auth/scopes.ts'
import type { Secrets } from '../../auth/secrets.ts'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import { setCatalogueMode } from '../../db/catalogue/catalogues.ts'
import { type Change, type Database, isUniqueViolation } from '../../db/client.ts'
import { hasActiveHold } from '../../db/entry-holds.ts'
import {
  batchedSlugs,
  deleteProvider,
  type JobLimits,
  listAllProviders,
  listProviders,
  lockProvider,
  type ProviderRecord,
  setProviderStatus,
  updateProvider,
  updateProviderDetails,
} from '../../db/providers.ts'
import type { CatalogueMode } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { fromAdapter } from '../../storage/adapter-call.ts'
import type { Config } from '../../storage/config.ts'
import type { Encryption } from '../../storage/encryption/index.ts'
import type { Storage } from '../../storage/index.ts'
import type { Adapter } from '../../storage/registry.ts'
import { needsAuthorization } from '../../storage/tokens.ts'
import { checkQuota } from '../../storage/validate-entry.ts'
import { cut } from '../audit/event.ts'
import type { Audit } from '../audit/index.ts'
import { parseName } from '../input.ts'
import type { ResumableUploads } from '../uploads/index.ts'
import { createBackEndTests, requireAdapter } from './back-end-tests.ts'
import { type EncryptionInput, parseEncryption, settingsOf } from './encryption.ts'
import { requireFreeRoot, requireStillFreeRoot } from './roots.ts'
import { createServerFolders } from './server-folders.ts'
import {
  awaitingConsent,
  insertWithSlug,
  isSlug,
  mergeConfig,
  parseChanges,
  parseJobLimits,
  parseSlug,
  parseTrashDays,
  parseVersionSettings,
  propertiesOf,
  requireSecretsAgain,
  slugTaken,
  type VersionInput,
} from './settings.ts'
import { createTraits } from './traits.ts'

export type { TrashTraits } from '../../storage/trash.ts'
export type { VersionTraits } from '../../storage/versions.ts'
export type { Capabilities } from './settings.ts'

export function createProviders(options: {
  db: Database
  secrets: Secrets
  storage: Storage
  audit: Audit
  uploads: Pick<ResumableUploads, 'abandon'>
  /** Called after a provider was connected, whose catalogue is to be filled. */
  onConnected: () => void
}) {
  const { db, secrets, storage, audit, uploads, onConnected } = options
  const idOfSlug = batchedSlugs(db)
  const tests = createBackEndTests({ db, storage })

  const adapterOf = (type: string) => requireAdapter(storage, type)

  function sealEncryption(id: string, encryption: Encryption) {
    const { password, salt } = encryption
    const sealedEncryption = secrets.seal('encryption', id, JSON.stringify({ password, salt }))
    return { encryption: settingsOf(encryption), sealedEncryption }
  }

  function seal(id: string, adapter: Adapter, config: Config) {
    const { open, secret } = adapter.rules.split(config)
    const sealedSecrets = Object.keys(secret).length > 0 ? secrets.seal('provider', id, JSON.stringify(secret)) : null
    return { config: open, sealedSecrets }
  }

  return {
    /** Lists the adapters of this server. @throws SCOPE_REQUIRED */
    types(viewer: Viewer | null): Adapter[] {
      requireScope(viewer, 'read')
      return storage.adapters.list()
    },

    /** Lists the providers that the viewer may access, oldest first. @throws SCOPE_REQUIRED */
    async list(viewer: Viewer | null): Promise<ProviderRecord[]> {
      const { access, member } = requireScope(viewer, 'read')
      const all = await listProviders(db, member.workspaceId)
      return all.filter(record => basePathsIn(access, record.id) !== null)
    },

    /** @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND */
    async get(viewer: Viewer | null, id: string): Promise<ProviderRecord> {
      return storage.record(grantBasePaths(viewer, id)[0])
    },

    /**
     * Returns the id of the provider with this slug, or an id that no provider has. Pass it to a service, which authorizes
     * access before it looks anything up. @throws CREDENTIAL_REQUIRED
     */
    async idOf(viewer: Viewer | null, slug: string): Promise<string> {
      const { member, namedProvider, seenProvider } = requireViewer(viewer)
      // The query of the credential has looked it up. A second query for a missing provider would reveal by its time that one exists.
      if (namedProvider && 'slug' in namedProvider && namedProvider.slug === slug) return seenProvider?.id ?? noProvider
      const { workspaceId } = member
      return (isSlug(slug) ? await idOfSlug(`${workspaceId}/${slug}`) : null) ?? noProvider
    },

    /** Returns the configuration schema to admins only, because defaults and texts can reveal the server's folders. */
    visibleSchema(viewer: Viewer | null, { definition }: Adapter): ConfigSchema | Record<string, never> {
      return includesScope(viewer?.scope ?? null, 'admin') ? definition.configSchema : {}
    },

    /** Returns the configuration, without secrets, to viewers who may change it, and nothing to others. */
    visibleConfig: (viewer: Viewer | null, record: ProviderRecord): Config =>
      manages(viewer, record) ? record.config : {},

    /** Restricted like `visibleConfig`, because it can reveal the server's folders and addresses. */
    visibleStatusReason: (viewer: Viewer | null, record: ProviderRecord): string | null =>
      manages(viewer, record) ? record.statusReason : null,

    ...createTraits(storage),
    ...createServerFolders(storage),

    /** Returns null if the back end reports no quota, or if the viewer may access only a part of it. @throws UNAVAILABLE, ... */
    async quota(viewer: Viewer | null, record: ProviderRecord, signal: AbortSignal): Promise<Quota | null> {
      if (grantBasePaths(viewer, record.id)[0].path !== root) return null
      const provider = await storage.provider(record)
      if (!provider.quota) return null
      return storage.ask(signal, async call => checkQuota(await provider.quota?.(call)))
    },

    /**
     * Connects a provider after testing its back end.
     * @param input.slug null makes one from the name
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, INVALID_INPUT, INVALID_CONFIG, ALREADY_EXISTS for a taken slug
     */
    connect(
      viewer: Viewer | null,
      input: {
        type: string
        name: string
        slug?: string | null | undefined
        config: unknown
        encryption?: EncryptionInput | null | undefined
      } & VersionInput,
    ): Promise<ProviderRecord> {
      const details = { type: cut(input.type) }
      return audit.recorded(viewer, 'PROVIDER_CONNECT', { providerName: cut(input.name), details }, async recording => {
        const { workspaceId } = requireWorkspaceAdmin(viewer).member
        const name = parseName(input.name, 'The name of a provider')
        const slug = input.slug == null ? null : parseSlug(input.slug)
        const versions = parseVersionSettings(input)
        const adapter = adapterOf(input.type)
        const config = adapter.rules.parse(input.config)
        const encryption = input.encryption == null ? null : parseEncryption(input.encryption)
        if (encryption) recording.add({ details: { encryption: settingsOf(encryption) } })
        const awaitsConsent = needsAuthorization(adapter.definition.oauth, config)
        const options = { encryption, isNew: true }
        const rootId = awaitsConsent
          ? await tests.checkConfig(adapter, config).then(() => null)
          : await tests.tryOut(adapter, config, options)
        const id = randomUUID()
        const sealed = seal(id, adapter, config)
        const isEncrypted = encryption !== null
        const own = { id: null, workspaceId, type: input.type, config: sealed.config, rootId, isEncrypted }
        await requireFreeRoot(db, own, storage)
        recording.add({ location: { providerId: id }, providerName: name })
        const connected = await recording.commit(async change => {
          await requireStillFreeRoot(change, own)
          return await insertWithSlug(
            change,
            {
              id,
              workspaceId,
              type: input.type,
              name,
              rootId: rootId ?? null,
              ...versions,
              ...sealed,
              ...(encryption && sealEncryption(id, encryption)),
              ...(awaitsConsent ? awaitingConsent : { status: 'CONNECTED', statusReason: null }),
            },
            slug,
          )
        })
        onConnected()
        return connected
      })
    },

    /**
     * Replaces the properties in `config`, removes those that are null, and keeps the rest. If a property changes that decides
     * where secrets are sent or whom they belong to, `config` must include every secret again, and an OAuth consent ends.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, NOT_FOUND, INVALID_CONFIG, PRECONDITION_FAILED,
     * ALREADY_EXISTS for a taken slug
     */
    update(
      viewer: Viewer | null,
      input: {
        id: string
        name?: string | null | undefined
        slug?: string | null | undefined
        config?: unknown
        jobLimits?: JobLimits | null | undefined
        /** Null returns to the setting of the server. */
        trashDays?: number | null | undefined
        catalogueMode?: CatalogueMode | null | undefined
      } & VersionInput,
    ): Promise<ProviderRecord> {
      const location = { providerId: input.id }
      return audit.recorded(viewer, 'PROVIDER_UPDATE', { location }, async recording => {
        const record = await storage.record(authorize(viewer, needs.manageProvider, input)[0])
        recording.add({ providerName: record.name })
        if (input.config != null) requireRecent(viewer)
        const name = input.name == null ? undefined : parseName(input.name, 'The name of a provider')
        if (name !== undefined) recording.add({ details: { newName: name } })
        const slug = input.slug == null ? undefined : parseSlug(input.slug)
        if (slug !== undefined) recording.add({ details: { newSlug: slug } })
        const { catalogueMode } = input
        if (catalogueMode != null) recording.add({ details: { catalogueMode } })
        const commit = <T>(work: (change: Change) => Promise<T>) => {
          const committing = recording.commit(async change => {
            if (catalogueMode != null) await setCatalogueMode(change, record.id, catalogueMode)
            return work(change)
          })
          return committing.catch(error => {
            throw slug !== undefined && isUniqueViolation(error) ? slugTaken(slug) : error
          })
        }
        const jobLimits = input.jobLimits == null ? undefined : parseJobLimits(input.jobLimits)
        if (jobLimits) recording.add({ details: { jobLimits } })
        const trashDays = input.trashDays === undefined ? undefined : parseTrashDays(input.trashDays)
        if (trashDays !== undefined) recording.add({ details: { trashDays } })
        const versions = parseVersionSettings(input)
        recording.add({ details: versions })
        const details = {
          ...versions,
          ...(name !== undefined && { name }),
          ...(slug !== undefined && { slug }),
          ...(jobLimits && { jobLimits }),
          ...(trashDays !== undefined && { trashDays }),
        }
        if (input.config == null) {
          if (Object.keys(details).length === 0) return catalogueMode == null ? record : commit(async () => record)
          return commit(async change => present(await updateProviderDetails(change, record.id, details)))
        }
        const adapter = adapterOf(record.type)
        const stored = storage.config(record)
        const changes = parseChanges(input.config)
        const config = adapter.rules.parse(mergeConfig(stored, changes))
        const moved = adapter.rules.movedBy(stored, config)
        requireSecretsAgain(moved, Object.keys(adapter.rules.split(stored).secret), changes)
        const isMoved = moved.length > 0
        const awaitsConsent =
          needsAuthorization(adapter.definition.oauth, config) && (isMoved || record.status !== 'CONNECTED')
        // Only a test shows whether the consent covers the new configuration.
        const isElsewhere = !isDeepStrictEqual(adapter.rules.split(stored).open, adapter.rules.split(config).open)
        const options = {
          record: isMoved ? undefined : record,
          encryption: storage.encryption(record),
          isNew: isElsewhere,
        }
        const rootId = awaitsConsent
          ? await tests.checkConfig(adapter, config).then(() => record.rootId)
          : await tests.tryOut(adapter, config, options)
        const sealed = seal(record.id, adapter, config)
        const own = { ...record, config: sealed.config, rootId, isEncrypted: record.encryption !== null }
        await requireFreeRoot(db, own, storage)
        recording.add({ details: { config: propertiesOf(input.config).map(cut) } })
        return commit(async change => {
          await requireStillFreeRoot(change, own)
          const updated = await updateProvider(change, record, {
            ...details,
            ...sealed,
            rootId: rootId ?? null,
            ...(awaitsConsent ? isMoved && awaitingConsent : { status: 'CONNECTED', statusReason: null }),
          })
          if (!updated) {
            throw new AppError('PRECONDITION_FAILED', 'The provider was changed by somebody else meanwhile: try again.')
          }
          if (isMoved) await storage.tokens.remove(change, record.id)
          return updated
        })
      })
    },

    /**
     * Returns how a stored configuration differs from another one: the properties that `update` has to change, null for those
     * that it has to remove. The values can be secrets. @throws SCOPE_REQUIRED, OUTSIDE_BASE_PATH, INVALID_CONFIG
     */
    differences(viewer: Viewer | null, record: ProviderRecord, config: unknown): Config {
      authorize(viewer, needs.manageProvider, { id: record.id })
      const [stored, next] = [storage.config(record), adapterOf(record.type).rules.parse(config)]
      const names = new Set([...Object.keys(stored), ...Object.keys(next)])
      const differing = [...names].filter(name => !isDeepStrictEqual(stored[name], next[name]))
      return Object.fromEntries(differing.map(name => [name, next[name] ?? null]))
    },

    /** Disconnects a provider. Files stay at the back end; unfinished uploads are aborted. @throws as `update`, ON_HOLD */
    async disconnect(viewer: Viewer | null, id: string): Promise<void> {
      await audit.recorded(viewer, 'PROVIDER_DISCONNECT', { location: { providerId: id } }, async recording => {
        const [granted] = authorize(viewer, needs.manageProvider, { id })
        const record = await storage.record(granted)
        recording.add({ providerName: record.name })
        await requireNoHolds(db, record.id)
        await uploads.abandon(record.id)
        await recording.commit(async change => {
          await lockProvider(change, record.id)
          await requireNoHolds(change, record.id)
          await deleteProvider(change, record.id)
        })
        storage.forget(record.id)
      })
    },

    /** Tests the back end and stores the result as the status. @throws as `update` */
    test(viewer: Viewer | null, id: string): Promise<ProviderRecord> {
      return audit.recorded(viewer, 'PROVIDER_TEST', { location: { providerId: id } }, async recording => {
        const [granted] = authorize(viewer, needs.manageProvider, { id })
        const record = await storage.record(granted)
        const outcome = await tests.statusOf(record)
        recording.add({ providerName: record.name, details: { status: outcome.status } })
        await recording.commit(change => setProviderStatus(change, record, outcome))
        return storage.record(granted)
      })
    },

    /** Tests the back ends of all providers for the operator, and stores nothing. */
    async testAll(): Promise<{ record: ProviderRecord; error: unknown }[]> {
      const records = await listAllProviders(db)
      return Promise.all(
        records.map(async record => {
          const error = await tests.reopen(record).then(
            () => null,
            cause => fromAdapter(cause),
          )
          return { record, error }
        }),
      )
    },
  }
}

/** The nil UUID, which no provider has: RFC 9562, section 5.9. */
export const noProvider = '00000000-0000-0000-0000-000000000000'

function manages(viewer: Viewer | null, record: ProviderRecord): boolean {
  return viewer !== null && includesScope(viewer.scope, 'admin') && includesPath(viewer.access, record.id, root)
}

/** @throws NOT_FOUND */
function present(record: ProviderRecord | null): ProviderRecord {
  if (!record) throw new AppError('NOT_FOUND', 'There is no such provider.')
  return record
}

/** Without its provider, a hold would hold nothing. @throws ON_HOLD */
async function requireNoHolds(db: Database, providerId: string): Promise<void> {
  if (!(await hasActiveHold(db, providerId))) return
  throw new AppError('ON_HOLD', 'Entries of the storage are on hold: it stays connected until the last hold has ended.')
}
