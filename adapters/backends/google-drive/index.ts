/**
 * The adapter for Google Drive. A configuration enters, and a provider of My Drive or of a shared drive leaves. `provider.ts` describes
 * the requests for `bases/cloud`. Drive finds files by id, so `ids.ts` finds the id of a path, and `names.ts` makes names unique.
 */
import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, type Endpoints, type GoogleDriveConfig, googleEndpoints, parseCredentials } from './config.ts'
import { oauthFlow } from './oauth.ts'
import type { ProviderOptions } from './provider.ts'

export type { Endpoints, GoogleDriveConfig }

/** Options for tests. */
export type GoogleDriveOptions = Partial<ProviderOptions>

export function googleDriveAdapter(options: GoogleDriveOptions = {}): AdapterDefinition<GoogleDriveConfig> {
  const endpoints = options.endpoints ?? googleEndpoints
  return {
    type: 'google-drive',
    apiVersion: 1,
    title: 'Google Drive',
    group: 'account',
    configSchema,
    oauth: oauthFlow(endpoints),
    async open(config, host) {
      const account = parseCredentials(config)
      // Load Google's library only when it is used: it takes 50 ms and 20 MB.
      const { openProvider } = await import('./provider.ts')
      return await openProvider(config, account, host, { ...options, endpoints })
    },
  }
}
