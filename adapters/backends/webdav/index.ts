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
    const { openProvider } = await import('./open.ts')
    return await openProvider(settings, host)
  },
}
