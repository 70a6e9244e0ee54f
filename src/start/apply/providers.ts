import { isDeepStrictEqual } from 'node:util'
import type { ProviderRecord } from '../../db/providers.ts'
import { type EncryptionInput, parseEncryption, settingsOf } from '../../services/providers/encryption.ts'
import { type ApplyContext, change, create, drift, onlyNamed, type Step } from './context.ts'
import { type DeclaredProvider, readSecretOf } from './declaration.ts'

/** The settings for deleted and replaced files of a provider. */
const keptNames = ['trashDays', 'versionCount', 'versionDays'] as const
type KeptSettings = Pick<DeclaredProvider, (typeof keptNames)[number]>

/** Compares the providers by their names. Those that are not declared stay. */
export async function planProviders(context: ApplyContext): Promise<Step[]> {
  const { services, viewer, declaration, providers } = context
  const declared = declaration.providers
  if (!declared) return []
  const steps: Step[] = []
  for (const provider of declared) {
    const subject = `storage "${provider.name}"`
    const config = await configOf(provider)
    const record = onlyNamed('storages', providers, provider.name)
    if (!record) {
      steps.push(
        create(subject, `of the type ${provider.type}`, async () => {
          const { name, slug, type } = provider
          const encryption = await encryptionOf(provider)
          const { id } = await services.providers.connect(viewer, { type, name, slug, config, encryption })
          const kept = keptOtherwise(provider)
          if (Object.keys(kept).length > 0) await services.providers.update(viewer, { id, ...kept })
          context.providerIds.set(provider.name, id)
        }),
      )
    } else if (record.type !== provider.type)
      steps.push(drift(subject, `has the type ${record.type}: disconnect it first`))
    else if (isEncryptedOtherwise(provider, record)) {
      steps.push(drift(subject, 'is encrypted in another way: that cannot change'))
    } else {
      const changes = services.providers.differences(viewer, record, config)
      const isRenamed = provider.slug !== undefined && provider.slug !== record.slug
      const kept = keptOtherwise(provider, record)
      const names = [...(isRenamed ? ['slug'] : []), ...Object.keys(kept), ...Object.keys(changes)]
      if (names.length > 0) {
        const update = {
          id: record.id,
          ...(isRenamed && { slug: provider.slug }),
          ...kept,
          ...(Object.keys(changes).length > 0 && { config: { ...config, ...changes } }),
        }
        steps.push(change(subject, names.join(', '), () => services.providers.update(viewer, update)))
      }
    }
  }
  const known = new Set(declared.map(({ name }) => name))
  return [
    ...steps,
    ...providers
      .filter(({ name }) => !known.has(name))
      .map(({ name }) => drift(`storage "${name}"`, 'is not declared')),
  ]
}

/** Reads the secrets of the encryption. */
async function encryptionOf({ encryption }: DeclaredProvider): Promise<EncryptionInput | null> {
  if (!encryption) return null
  const { passwordFile, saltFile, ...settings } = encryption
  const password = await readSecretOf(passwordFile)
  return { ...settings, password, ...(saltFile !== undefined && { salt: await readSecretOf(saltFile) }) }
}

/** Compares what is no secret. */
function isEncryptedOtherwise({ encryption }: DeclaredProvider, record: Pick<ProviderRecord, 'encryption'>): boolean {
  if (!encryption || !record.encryption) return (encryption === undefined) !== (record.encryption === null)
  const { passwordFile: _password, saltFile: _salt, ...settings } = encryption
  return !isDeepStrictEqual(settingsOf(parseEncryption({ ...settings, password: 'compared' })), record.encryption)
}

/** Returns the declared settings that a provider does not have. */
function keptOtherwise(
  declared: DeclaredProvider,
  record?: { [Name in keyof KeptSettings]: number | null },
): KeptSettings {
  const names = keptNames.filter(name => declared[name] !== undefined && declared[name] !== record?.[name])
  return Object.fromEntries(names.map(name => [name, declared[name]]))
}

async function configOf({ config = {}, secretFiles = {} }: DeclaredProvider): Promise<Record<string, unknown>> {
  const secrets = Object.entries(secretFiles).map(async ([name, file]) => [name, await readSecretOf(file)] as const)
  return { ...config, ...Object.fromEntries(await Promise.all(secrets)) }
}
