import { randomBytes } from 'node:crypto'
import { type Harness, networkFaults, testHost } from '../../../adapters/conformance/index.ts'
import { call } from '../../../adapters/conformance/kit.ts'
import { childOf, joinSegments, type StoragePath, type StorageProvider } from '../../../adapters/contract.ts'
import { StartError } from '../../errors.ts'
import type { Adapter } from '../../storage/registry.ts'
import type { AdapterTestRequest } from './request.ts'

/** Each provider that the kit opens replaces this with another word. */
const placeholder = '{random}'
const root = joinSegments([])

/**
 * Returns a harness that opens the back end of a configuration. Every case needs an empty back end: it gets one through the
 * placeholder in a name or a prefix, or because each case removes its files at its end.
 * @param configText a configuration in JSON
 */
export function harnessFor(
  { definition, rules }: Adapter,
  configText: string,
  { canReopen, folderProperty, faults: tried }: Pick<AdapterTestRequest, 'canReopen' | 'folderProperty' | 'faults'>,
): Harness {
  const { network, faults } = networkFaults()
  const texts = new WeakMap<StorageProvider, string>()
  const openAs = async (text: string) => {
    const provider = await definition.open(rules.parse(JSON.parse(text)), testHost({ network }))
    texts.set(provider, text)
    return provider
  }
  const openAgain = (provider: StorageProvider) => openAs(texts.get(provider) ?? configText)
  return {
    async open() {
      const provider = await openAs(configText.replaceAll(placeholder, randomBytes(6).toString('hex')))
      const { entries } = await provider.list(root, { ...call(), limit: 1 })
      if (entries.length === 0) return provider
      await provider.close?.()
      throw new StartError(
        `The back end is not empty. Use an empty one, or put ${placeholder} into a folder or a prefix of the configuration: the cases create and delete files.`,
      )
    },
    ...(canReopen && { reopen: openAgain }),
    ...(folderProperty !== null && {
      openFolder: (provider, path) => openAs(withFolder(texts.get(provider) ?? configText, folderProperty, path)),
    }),
    faults: Object.fromEntries(tried.map(name => [name, faults[name]])),
    async cleanUp(provider) {
      const again = await openAgain(provider)
      try {
        await removeAll(again, root)
      } finally {
        await again.close?.()
      }
    },
  }
}

/** Returns the configuration of a folder below that of another one. @throws StartError */
function withFolder(configText: string, property: string, path: string): string {
  const config = JSON.parse(configText)
  const folder: unknown = config[property] ?? ''
  if (typeof folder !== 'string')
    throw new StartError(`The property "${property}" does not name a folder: see --folder.`)
  const below = folder === '' ? path : `${folder.replace(/\/$/, '')}/${path}`
  return JSON.stringify({ ...config, [property]: below })
}

/** Deletes the content of a folder, page by page. */
async function removeAll(provider: StorageProvider, folder: StoragePath): Promise<void> {
  for (let previous: string | undefined; ; ) {
    const { entries } = await provider.list(folder, { ...call(), limit: 1000 })
    const [first] = entries
    if (first === undefined) return
    if (first.name === previous) throw new Error('The back end still lists an entry that was deleted.')
    previous = first.name
    await Promise.all(
      entries.map(async ({ name, kind }) => {
        const path = childOf(folder, name)
        if (kind === 'directory') await removeAll(provider, path)
        await provider.delete(path, call())
      }),
    )
  }
}
