import { randomUUID } from 'node:crypto'
import type { Limits } from '../../adapters/backends/azure-blob/client.ts'
import { type AzureBlobConfig, parseConfig } from '../../adapters/backends/azure-blob/config.ts'
import { openProvider } from '../../adapters/backends/azure-blob/provider.ts'
import type { Host } from '../../adapters/contract.ts'
import type { AzureAccount } from '../servers/azurite.ts'
import { silentHost } from './host.ts'

/** Small files have many parts, and refused requests are not repeated for long. */
export const smallLimits: Partial<Limits> = {
  partBytes: 1024 * 1024,
  memoryBytes: 4 * 1024 * 1024,
  backoff: { first: 10, longest: 100, attempts: 4 },
}

export function azureConfigFor(
  { account, accountKey, endpoint }: AzureAccount,
  container: string,
  changes: Partial<AzureBlobConfig> = {},
): AzureBlobConfig {
  return { account, accountKey, endpoint, container, access: 'key', prefix: '', ...changes }
}

/** Opens a provider with its own prefix, unless the config has one. */
export function openAzure(
  account: AzureAccount,
  container: string,
  options: { config?: Partial<AzureBlobConfig>; limits?: Partial<Limits>; host?: Host } = {},
): ReturnType<typeof openProvider> {
  const config = azureConfigFor(account, container, { prefix: `p ${randomUUID()}`, ...options.config })
  const { limits, host = silentHost } = options
  return openProvider(parseConfig(config), host, { authority: 'http://127.0.0.1:9/', ...smallLimits, ...limits })
}
