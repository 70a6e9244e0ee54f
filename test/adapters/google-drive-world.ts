import { createHash, randomBytes } from 'node:crypto'
import type { Host, StorageProvider, Tokens } from '../../adapters/contract.ts'
import { type Endpoints, type GoogleDriveOptions, googleDriveAdapter } from '../../adapters/google-drive/index.ts'
import { type GoogleDrive, startGoogleDrive } from '../servers/google-drive/index.ts'
import { recordingHost } from './host.ts'

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

type OAuthHost = Host & { warnings: readonly { message: string }[]; asked: number; refreshes: number }

/** Gives consent as a person does, and stores tokens as a server does. */
export async function oauthHost(fake: GoogleDrive, options: GoogleDriveOptions): Promise<OAuthHost> {
  const { oauth } = googleDriveAdapter(options)
  if (!oauth) throw new Error('no OAuth')
  const config = { clientId: fake.oauth.clientId, clientSecret: fake.oauth.clientSecret }
  const redirectUri = 'http://127.0.0.1:1/webhook/callback'
  const codeVerifier = randomBytes(32).toString('base64url')
  const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')
  const answer = await fetch(oauth.authorizeUrl(config, { redirectUri, state: 's', codeChallenge }), {
    redirect: 'manual',
  })
  const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const recording = recordingHost()
  let tokens: Tokens = await oauth.exchange(config, { redirectUri, code, codeVerifier }, recording.network)
  const refreshToken = tokens.refreshToken ?? ''
  let refreshing: Promise<Tokens> | undefined
  const host = {
    ...recording,
    asked: 0,
    refreshes: 0,
    async accessToken({ rejected }: { rejected?: string } = {}) {
      host.asked += 1
      if (rejected === tokens.accessToken) {
        refreshing ??= oauth.refresh(config, refreshToken, recording.network).finally(() => {
          refreshing = undefined
        })
        host.refreshes += 1
        tokens = await refreshing
      }
      return tokens.accessToken
    },
  }
  return host
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
