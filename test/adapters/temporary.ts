import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StorageProvider } from '../../adapters/contract.ts'
import { localAdapter } from '../../adapters/local/index.ts'
import { recordingHost } from './host.ts'

export interface Temporary {
  provider: StorageProvider
  /** The provider's root. */
  root: string
  /** Beside the root: what no call may reach. */
  outside: string
  host: ReturnType<typeof recordingHost>
}

/** A local provider on a fresh folder that goes away with the test. */
export async function openTemporary(t: { teardown(clean: () => Promise<void>): void }): Promise<Temporary> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'stowage-local-')))
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
