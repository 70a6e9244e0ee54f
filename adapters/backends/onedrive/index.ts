/**
 * The adapter for OneDrive and SharePoint. A configuration enters, and a provider of one drive leaves. `provider.ts` describes the
 * requests for `bases/cloud`, and `items.ts` finds, lists and deletes by path.
 */
import { usualBackoff } from '../../bases/cloud/repeat.ts'
import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, drivePathOf, type Endpoints, microsoftEndpoints, type OneDriveConfig } from './config.ts'
import { oauthFlow } from './oauth.ts'
import type { ProviderOptions } from './provider.ts'

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
      const { openProvider } = await import('./provider.ts')
      return openProvider(config, host, { ...options, endpoints })
    },
  }
}
