import { usualBackoff } from '../../bases/cloud/repeat.ts'
import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, drivePathOf, type Endpoints, microsoftEndpoints, type OneDriveConfig } from './config.ts'
import { oauthFlow } from './oauth.ts'
import type { ProviderOptions } from './open.ts'

export type { Endpoints, OneDriveConfig }

/** Options for tests. */
export type OneDriveOptions = Partial<ProviderOptions>

export function oneDriveAdapter(options: OneDriveOptions = {}): AdapterDefinition<OneDriveConfig> {
  const { endpoints = microsoftEndpoints, backoff = usualBackoff } = options
  return {
    type: 'onedrive',
    apiVersion: 1,
    title: 'OneDrive and SharePoint',
    configSchema,
    oauth: oauthFlow(endpoints, backoff),
    async open(config, host) {
      drivePathOf(config)
      // Load the code only when it is used.
      const { openProvider } = await import('./open.ts')
      return openProvider(config, host, { ...options, endpoints })
    },
  }
}
