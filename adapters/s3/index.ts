import type { AdapterDefinition } from '../contract.ts'
import { configSchema, parseConfig, type S3Config } from './config.ts'

export const s3Adapter: AdapterDefinition<S3Config> = {
  type: 's3',
  apiVersion: 1,
  title: 'S3 (Amazon, Ceph, MinIO, R2 and others)',
  configSchema,
  async open(config, host) {
    const settings = parseConfig(config)
    // The SDK takes 100 ms and 30 MB to load: only for those who use it.
    const { openProvider } = await import('./provider.ts')
    return await openProvider(settings, host)
  },
}
