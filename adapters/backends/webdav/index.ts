/**
 * The adapter for WebDAV servers. A configuration enters, and a provider of one folder leaves. `provider.ts` asks what the server can
 * do, `files.ts` has the commands for `bases/plain`, and `client.ts` sends them. Nextcloud and ownCloud take large files in chunks.
 */
import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, parseConfig, type WebdavConfig } from './config.ts'

export const webdavAdapter: AdapterDefinition<WebdavConfig> = {
  type: 'webdav',
  apiVersion: 1,
  title: 'WebDAV, Nextcloud and ownCloud',
  configSchema,
  async open(config, host) {
    const settings = parseConfig(config)
    // Load the code only when it is used.
    const { openProvider } = await import('./provider.ts')
    return await openProvider(settings, host)
  },
}
