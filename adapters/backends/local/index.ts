import type { AdapterDefinition, Host } from '../../contract.ts'
import { configSchema, type LocalConfig, type LocalOptions, resolveRoot } from './config.ts'
import { NameLists } from './name-lists.ts'
import { LocalProvider } from './provider.ts'
import type { Root } from './root.ts'
import { SmallFiles } from './small/index.ts'
import { openStaging } from './staging.ts'
import { withDirectory } from './walk.ts'

export function localAdapter(options: LocalOptions): AdapterDefinition<LocalConfig> {
  // All local providers share the cache, so its bound holds for the whole process.
  const shared = { lists: new NameLists(), small: new SmallFiles() }
  return {
    type: 'local',
    apiVersion: 1,
    title: 'Local disk',
    configSchema: configSchema(options.localRoots),
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
