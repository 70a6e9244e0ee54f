/**
 * The adapter for S3 and services that speak its API. A configuration enters, and a provider of one bucket leaves, whose folders are
 * prefixes. `provider.ts` describes the requests for `bases/objects`, `client.ts` sends them with the SDK, and `direct.ts` sends the
 * small ones without it.
 */
import type { AdapterDefinition } from '../../contract.ts'
import { configSchema, parseConfig, type S3Config } from './config.ts'

export const s3Adapter: AdapterDefinition<S3Config> = {
  type: 's3',
  apiVersion: 1,
  title: 'S3 (Amazon, Ceph, MinIO, R2 and others)',
  configSchema,
  async open(config, host) {
    const settings = parseConfig(config)
    // Load the SDK only when it is used: it takes 100 ms and 30 MB.
    const { openProvider } = await import('./provider.ts')
    return await openProvider(settings, host)
  },
}
