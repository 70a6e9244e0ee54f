/**
 * The adapter for Dropbox. A configuration enters, and a provider of one person's or team's space leaves. `provider.ts` describes the
 * requests for `bases/cloud`, and `files.ts` finds, lists and deletes by path.
 */
import { usualBackoff } from '../../bases/cloud/repeat.ts'
import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, type DropboxConfig, dropboxEndpoints, type Endpoints } from './config.ts'
import { oauthFlow } from './oauth.ts'
import type { ProviderOptions } from './provider.ts'

export type { DropboxConfig, Endpoints }

/** Options for tests. */
export type DropboxOptions = Partial<ProviderOptions>

export function dropboxAdapter(options: DropboxOptions = {}): AdapterDefinition<DropboxConfig> {
  const { endpoints = dropboxEndpoints, backoff = usualBackoff } = options
  return {
    type: 'dropbox',
    apiVersion: 1,
    title: 'Dropbox',
    configSchema,
    oauth: oauthFlow(endpoints, backoff),
    async open(config, host) {
      // Load the code only when it is used.
      const { openProvider } = await import('./provider.ts')
      return openProvider(config, host, { ...options, endpoints })
    },
  }
}
