import type { Host, Tokens } from '../../contract.ts'

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

/** A token that expires within this time is no longer used, in milliseconds. */
const expiryBuffer = 60_000

/** Keeps a token until it expires. Calls at the same time share one request. */
export function fromRequests(request: () => Promise<Tokens>): TokenSource {
  let current: Tokens | undefined
  let pending: Promise<Tokens> | undefined
  return async rejected => {
    const isUsable =
      current && current.accessToken !== rejected && current.expiresAt.getTime() - expiryBuffer > Date.now()
    if (current && isUsable) return current.accessToken
    pending ??= request().finally(() => {
      pending = undefined
    })
    current = await pending
    return current.accessToken
  }
}
