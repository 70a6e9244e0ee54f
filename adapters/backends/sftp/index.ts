/**
 * The adapter for SSH servers with SFTP. A configuration enters, and a provider of one folder leaves. `provider.ts` opens it over the
 * connections of `client.ts`, `files.ts` has the commands for `bases/plain`, and `transfer.ts` sends many requests at once.
 */
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
    const { openProvider } = await import('./provider.ts')
    return await openProvider(settings, host)
  },
}
