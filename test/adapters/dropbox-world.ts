import {
  type DropboxConfig,
  type DropboxOptions,
  dropboxAdapter,
  type Endpoints,
} from '../../adapters/backends/dropbox/index.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { type Dropbox, startDropbox } from '../servers/dropbox/index.ts'
import { consentingHost, type OAuthHost } from './oauth-host.ts'

export function endpointsOf({ url }: Dropbox): Endpoints {
  return { api: url, content: url, authorize: `${url}oauth2/authorize`, token: `${url}oauth2/token` }
}

/** The delays are short, because the tests only check that the adapter waits. */
export const backoff = { first: 5, longest: 2000, attempts: 6 }

export function configOf({ oauth }: Dropbox): DropboxConfig {
  const { clientId, clientSecret } = oauth.rules
  return { clientId, clientSecret }
}

export function oauthHost(fake: Dropbox, options: DropboxOptions): Promise<OAuthHost> {
  return consentingHost(dropboxAdapter(options).oauth, configOf(fake))
}

export interface World {
  fake: Dropbox
  options: DropboxOptions
  provider: StorageProvider
  host: OAuthHost
}

/** Opens the folder `/root` of a new account. */
export async function openWorld(
  t: { teardown(end: () => Promise<void>): void },
  more: { config?: Partial<DropboxConfig>; options?: DropboxOptions } = {},
): Promise<World> {
  const fake = await startDropbox(t)
  const options = { endpoints: endpointsOf(fake), backoff, ...more.options }
  const host = await oauthHost(fake, options)
  fake.files.tree.folder('root')
  const config = { ...configOf(fake), rootFolder: '/root', ...more.config }
  const provider = await dropboxAdapter(options).open(config, host)
  fake.faults.clear()
  return { fake, options, provider, host }
}
