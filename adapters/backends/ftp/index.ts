/**
 * The adapter for FTP servers, with TLS or without. A configuration enters, and a provider of one folder leaves. `provider.ts` connects
 * and asks what the server can do, and `files.ts` has the commands for `bases/plain`.
 */
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
    const { openProvider } = await import('./provider.ts')
    return await openProvider(settings, host)
  },
}
