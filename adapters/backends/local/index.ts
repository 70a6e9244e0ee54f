/**
 * The adapter for folders on the server's own disks. It takes a configuration, and returns a provider whose calls cannot leave
 * its root. `open.ts` is the only way to an entry, writes are staged in a hidden folder, and `small-files/` does small files in a thread.
 */
import type { AdapterDefinition, Host } from '../../contract.ts'
import { configSchema, type LocalConfig, type LocalOptions, resolveRoot } from './config.ts'
import { listFolders } from './folders.ts'
import { NameLists } from './list.ts'
import { type Root, withDirectory } from './open.ts'
import { LocalProvider } from './provider.ts'
import { SmallFiles } from './small-files/index.ts'
import { openStaging } from './staging.ts'
import { Watcher } from './watcher.ts'

export function localAdapter(options: LocalOptions): AdapterDefinition<LocalConfig> {
  const shared = { lists: new NameLists(), smallFiles: new SmallFiles(), watcher: new Watcher() }
  return {
    type: 'local',
    apiVersion: 1,
    title: 'Local disk',
    group: 'server',
    configSchema: configSchema(options.localRoots),
    listFolders: (path, call) => listFolders(path, options, call),
    async open(config, host) {
      const root = await resolveRoot(config, options)
      await warnIfReadOnly(root, host)
      return new LocalProvider(root, host, shared)
    },
  }
}

async function warnIfReadOnly(root: Root, host: Host): Promise<void> {
  try {
    await withDirectory(root, [], new AbortController().signal, async directory => {
      await (await openStaging(directory)).close()
    })
  } catch (error) {
    host.warn('This folder is read-only for the server', { root: root.path, error })
  }
}
