import type { Host } from '../contract.ts'

/** Returns an access token. Pass one that the vendor has refused as `rejected` to get another. */
export type TokenSource = (rejected?: string) => Promise<string>

/** Gets tokens from the host. All callers with the same refused token share one refresh. */
export function fromHost(host: Host): TokenSource {
  let renewal: { rejected: string; token: Promise<string> } | undefined
  return rejected => {
    if (rejected === undefined) return host.accessToken()
    if (renewal?.rejected === rejected) return renewal.token
    const token = host.accessToken({ rejected })
    const current = { rejected, token }
    renewal = current
    token.catch(() => {
      if (renewal === current) renewal = undefined
    })
    return token
  }
}
