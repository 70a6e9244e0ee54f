import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, type Endpoints, type GoogleDriveConfig, googleEndpoints, parseCredentials } from './config.ts'
import { oauthFlow } from './oauth.ts'
import type { ProviderOptions } from './open.ts'

export type { Endpoints, GoogleDriveConfig }

/** Options for tests. */
export type GoogleDriveOptions = Partial<ProviderOptions>

export function googleDriveAdapter(options: GoogleDriveOptions = {}): AdapterDefinition<GoogleDriveConfig> {
  const endpoints = options.endpoints ?? googleEndpoints
  return {
    type: 'google-drive',
    apiVersion: 1,
    title: 'Google Drive',
    configSchema,
    oauth: oauthFlow(endpoints),
    async open(config, host) {
      const account = parseCredentials(config)
      // Load Google's library only when it is used: it takes 50 ms and 20 MB.
      const { openProvider } = await import('./open.ts')
      return await openProvider(config, account, host, { ...options, endpoints })
    },
  }
}
