import { webdavAdapter } from '../../adapters/backends/webdav/index.ts'
import type { Harness } from '../../adapters/conformance/index.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { type Kind, type Nextcloud, startNextcloud } from '../servers/nextcloud/index.ts'
import { isForbidden } from '../servers/nextcloud/names.ts'
import { extent } from '../support/extent.ts'
import { cloudFaults } from './cloud-faults.ts'
import { silentHost } from './host.ts'

/** Opens a folder of the user. */
export async function openFolder({ filesUrl, user, password }: Nextcloud, folder: string): Promise<StorageProvider> {
  return await webdavAdapter.open({ url: `${filesUrl}${encodeURI(folder)}`, user, password }, silentHost)
}

/** Returns a harness whose cases have folders of their own. */
export function harnessOf(fake: Nextcloud): Harness {
  const { password } = fake
  const folders = new Map<StorageProvider, string>()
  let count = 0
  const open = async (folder: string) => {
    const provider = await openFolder(fake, folder)
    folders.set(provider, folder)
    return provider
  }
  const oauth = {
    expireAccessTokens() {
      fake.password = 'another one'
    },
  }
  const faults = cloudFaults({ oauth, faults: fake.faults }, { rateLimit: 'rate limit', unavailable: 'maintenance' })
  return {
    inMemory: true,
    refuses: name => isForbidden(name) || name !== name.normalize('NFC'),
    manyEntries: extent({ gate: 100, nightly: 300 }),
    // More than a chunk.
    largeFileSize: 80_000_000,
    faults: {
      ...faults,
      async expireCredentials(provider) {
        await faults.expireCredentials?.(provider)
        return () => {
          fake.password = password
        }
      },
    },
    async open() {
      count += 1
      fake.files.tree.folder(`case ${count}`)
      return await open(`case ${count}`)
    },
    reopen: provider => open(folders.get(provider) ?? ''),
    openFolder: (provider, path) => open(`${folders.get(provider)}/${path}`),
    async cleanUp(provider) {
      fake.faults.clear()
      const folder = fake.files.tree.find(folders.get(provider) ?? '')
      if (folder) fake.files.tree.remove(folder)
      fake.uploads.folders.clear()
    },
  }
}

export interface World {
  fake: Nextcloud
  provider: StorageProvider
}

/** Opens the folder `root` of a new user. */
export async function openWorld(t: { teardown(end: () => Promise<void>): void }, kind?: Kind): Promise<World> {
  const fake = await startNextcloud(t, kind)
  fake.files.tree.folder('root')
  const provider = await openFolder(fake, 'root')
  fake.faults.clear()
  return { fake, provider }
}
