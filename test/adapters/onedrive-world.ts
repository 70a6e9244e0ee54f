import {
  type Endpoints,
  type OneDriveConfig,
  type OneDriveOptions,
  oneDriveAdapter,
} from '../../adapters/backends/onedrive/index.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { type OneDrive, startOneDrive } from '../servers/onedrive/index.ts'
import { consentingHost, type OAuthHost } from './oauth-host.ts'

export function endpointsOf({ url }: OneDrive): Endpoints {
  return { api: `${url}v1.0/`, login: `${url}login/` }
}

/** The delays are short, because the tests only check that the adapter waits. */
export const backoff = { first: 5, longest: 2000, attempts: 6 }

export function configOf({ oauth }: OneDrive): OneDriveConfig {
  const { clientId, clientSecret } = oauth.rules
  return { clientId, clientSecret }
}

export function oauthHost(fake: OneDrive, options: OneDriveOptions): Promise<OAuthHost> {
  return consentingHost(oneDriveAdapter(options).oauth, configOf(fake))
}

interface World {
  fake: OneDrive
  options: OneDriveOptions
  provider: StorageProvider
  host: OAuthHost
}

/** Opens the folder `/root` of a new drive. */
export async function openWorld(
  t: { teardown(end: () => Promise<void>): void },
  more: { config?: Partial<OneDriveConfig>; options?: OneDriveOptions } = {},
): Promise<World> {
  const fake = await startOneDrive(t)
  const options = { endpoints: endpointsOf(fake), backoff, copyInterval: 5, ...more.options }
  const host = await oauthHost(fake, options)
  fake.drive.tree.folder('root')
  const config = { ...configOf(fake), rootFolder: '/root', ...more.config }
  const provider = await oneDriveAdapter(options).open(config, host)
  fake.faults.clear()
  return { fake, options, provider, host }
}
