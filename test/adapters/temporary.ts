import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { recordingHost } from './host.ts'

export interface Temporary {
  provider: StorageProvider
  /** The provider's root. */
  root: string
  /** A folder next to the root, which no call may open. */
  outside: string
  host: ReturnType<typeof recordingHost>
}

/** Opens a local provider on a new folder, which is removed after the test. */
export async function openTemporary(
  t: { teardown(clean: () => Promise<void>): void },
  parent = tmpdir(),
): Promise<Temporary> {
  const folder = await realpath(await mkdtemp(join(parent, 'stowage-local-')))
  const [root, outside] = [join(folder, 'root'), join(folder, 'outside')]
  await Promise.all([mkdir(root), mkdir(outside)])
  const host = recordingHost()
  const provider = await localAdapter({ localRoots: [root], dataFolder: '/nowhere' }).open({ root }, host)
  t.teardown(async () => {
    await provider.close?.()
    await rm(folder, { recursive: true, force: true })
  })
  return { provider, root, outside, host }
}
