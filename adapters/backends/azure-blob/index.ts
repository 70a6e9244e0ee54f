/**
 * The adapter for Azure Blob Storage. A configuration enters, and a provider of one container leaves. `provider.ts` describes the
 * requests for `bases/objects`, and `client.ts` sends them. Large files are joined under a hidden name: see `uploads.ts`.
 */
import type { AdapterDefinition } from '../../contract.ts'
import { type AzureBlobConfig, authorityOf, configSchema, parseConfig } from './config.ts'
import { oauthFlow } from './oauth.ts'

export type { AzureBlobConfig }

/** Options for tests. */
export interface AzureBlobOptions {
  /** The address that signs people and applications in, ending in `/`. */
  authority?: string
}

export function azureBlobAdapter(options: AzureBlobOptions = {}): AdapterDefinition<AzureBlobConfig> {
  const authorityFor = (config: AzureBlobConfig) => options.authority ?? authorityOf(parseConfig(config).endpoint)
  return {
    type: 'azure-blob',
    apiVersion: 1,
    group: 'remote',
    title: 'Azure Blob Storage',
    configSchema,
    oauth: oauthFlow(authorityFor),
    async open(config, host) {
      const settings = parseConfig(config)
      // Load the code only when it is used.
      const { openProvider } = await import('./provider.ts')
      return await openProvider(settings, host, { authority: authorityFor(config) })
    },
  }
}
