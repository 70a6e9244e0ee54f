import type { AdapterDefinition, Host } from '../contract.ts'
import { configSchema, type LocalConfig, type LocalOptions, resolveRoot } from './config.ts'
import { LocalProvider } from './provider.ts'
import type { Root } from './root.ts'
import { isCaseSensitive } from './staging.ts'
import { withDirectory } from './walk.ts'

export function localAdapter(options: LocalOptions): AdapterDefinition<LocalConfig> {
  return {
    type: 'local',
    apiVersion: 1,
    title: 'Local disk',
    configSchema: configSchema(options.localRoots),
    async open(config, host) {
      const root = await resolveRoot(config, options)
      const caseSensitive = await probeCase(root, host)
      return new LocalProvider(root, { emptyDirectories: true, caseSensitive, atomicCreate: true }, host)
    },
  }
}

async function probeCase(root: Root, host: Host): Promise<boolean> {
  try {
    return await withDirectory(root, [], new AbortController().signal, isCaseSensitive)
  } catch (error) {
    host.warn('Nothing can be written to this folder, only read', { root: root.path, error })
    return true
  }
}
