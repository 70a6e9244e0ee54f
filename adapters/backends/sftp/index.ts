import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, parseConfig, type SftpConfig } from './config.ts'

export const sftpAdapter: AdapterDefinition<SftpConfig> = {
  type: 'sftp',
  apiVersion: 1,
  title: 'SFTP (SSH)',
  configSchema,
  async open(config, host) {
    const settings = parseConfig(config)
    // Load the library only when it is used.
    const { openProvider } = await import('./open.ts')
    return await openProvider(settings, host)
  },
}
