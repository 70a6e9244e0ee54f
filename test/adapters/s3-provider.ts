import { randomUUID } from 'node:crypto'
import { defaultLimits, type Limits } from '../../adapters/backends/s3/client.ts'
import { parseConfig, type S3Config } from '../../adapters/backends/s3/config.ts'
import { openProvider } from '../../adapters/backends/s3/provider.ts'
import type { Host } from '../../adapters/contract.ts'
import type { S3Account } from '../servers/radosgw.ts'
import { silentHost } from './host.ts'

/** The smallest parts that S3 allows, so that small files have many parts. */
export const smallParts = { partBytes: 5 * 1024 * 1024, memoryBytes: 20 * 1024 * 1024 }

export function configFor(account: S3Account, bucket: string, changes: Partial<S3Config> = {}): S3Config {
  const { endpoint, region, accessKeyId, secretAccessKey } = account
  const base = { bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true, prefix: '' }
  return { ...base, ...changes }
}

/** Opens a provider with its own prefix, unless the config has one. */
export function openS3(
  account: S3Account,
  bucket: string,
  options: { config?: Partial<S3Config>; limits?: Partial<Limits>; host?: Host } = {},
): ReturnType<typeof openProvider> {
  const config = configFor(account, bucket, { prefix: `p ${randomUUID()}`, ...options.config })
  return openProvider(parseConfig(config), options.host ?? silentHost, {
    ...defaultLimits,
    abortBackoff: { first: 100, longest: 200, attempts: 3 },
    ...options.limits,
  })
}
