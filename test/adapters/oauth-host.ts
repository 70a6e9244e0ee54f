import { createHash, randomBytes } from 'node:crypto'
import type { Host, OAuthFlow, Tokens } from '../../adapters/contract.ts'
import { recordingHost } from './host.ts'

export type OAuthHost = Host & { warnings: readonly { message: string }[]; asked: number; refreshes: number }

export const redirectUri = 'http://127.0.0.1:1/webhook/callback'

/** Gives consent as a person does. Returns the code and what is needed to exchange it. */
export async function consent<Config>(oauth: OAuthFlow<Config>, config: Config) {
  const codeVerifier = randomBytes(32).toString('base64url')
  const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')
  const url = oauth.authorizeUrl(config, { redirectUri, state: 's', codeChallenge })
  const answer = await fetch(url, { redirect: 'manual' })
  const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
  return { redirectUri, code, codeVerifier }
}

/** Returns a host that has the person's consent, and stores tokens as a server does. */
export async function consentingHost<Config>(oauth: OAuthFlow<Config> | undefined, config: Config): Promise<OAuthHost> {
  if (!oauth) throw new Error('no OAuth')
  const recording = recordingHost()
  let tokens: Tokens = await oauth.exchange(config, await consent(oauth, config), recording.network)
  let refreshing: Promise<Tokens> | undefined
  const host = {
    ...recording,
    asked: 0,
    refreshes: 0,
    async accessToken({ rejected }: { rejected?: string } = {}) {
      host.asked += 1
      if (rejected === tokens.accessToken) {
        const { refreshToken = '' } = tokens
        refreshing ??= oauth.refresh(config, refreshToken, recording.network).finally(() => {
          refreshing = undefined
        })
        host.refreshes += 1
        tokens = { refreshToken, ...(await refreshing) }
      }
      return tokens.accessToken
    },
  }
  return host
}
