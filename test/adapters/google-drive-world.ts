import {
  type Endpoints,
  type GoogleDriveOptions,
  googleDriveAdapter,
} from '../../adapters/backends/google-drive/index.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { type GoogleDrive, startGoogleDrive } from '../servers/google-drive/index.ts'
import { consentingHost, type OAuthHost } from './oauth-host.ts'

export function endpointsOf(fake: GoogleDrive): Endpoints {
  const { oauth2AuthBaseUrl, oauth2TokenUrl } = fake.oauthEndpoints
  return { api: fake.url, authorize: oauth2AuthBaseUrl, token: oauth2TokenUrl }
}

/** The delays are short, because the tests only check that the adapter waits. */
export const backoff = { first: 5, longest: 2000, attempts: 6 }

export interface World {
  fake: GoogleDrive
  options: GoogleDriveOptions
  /** A separate folder, not the root of the drive. */
  rootId: string
  provider: StorageProvider
  host: OAuthHost
}

/** Gives consent as a person does, and stores tokens as a server does. */
export function oauthHost(fake: GoogleDrive, options: GoogleDriveOptions): Promise<OAuthHost> {
  const { clientId, clientSecret } = fake.oauth
  return consentingHost(googleDriveAdapter(options).oauth, { clientId, clientSecret })
}

export async function openWorld(
  t: { teardown(end: () => Promise<void>): void },
  more: { config?: Record<string, string>; options?: GoogleDriveOptions } = {},
): Promise<World> {
  const fake = await startGoogleDrive(t)
  const options = { endpoints: endpointsOf(fake), backoff, trust: 0, ...more.options }
  const host = await oauthHost(fake, options)
  const rootId = fake.addFolder(fake.rootId, 'root of the provider').id
  const { clientId, clientSecret } = fake.oauth
  const config = { clientId, clientSecret, rootFolderId: rootId, ...more.config }
  const provider = await googleDriveAdapter(options).open(config, host)
  fake.faults.clear()
  return { fake, options, rootId, provider, host }
}
