import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, type FtpConfig, parseConfig } from './config.ts'

export const ftpAdapter: AdapterDefinition<FtpConfig> = {
  type: 'ftp',
  apiVersion: 1,
  title: 'FTP and FTPS',
  configSchema,
  async open(config, host) {
    const settings = parseConfig(config)
    // Load the library only when it is used.
    const { openProvider } = await import('./open.ts')
    return await openProvider(settings, host)
  },
}
