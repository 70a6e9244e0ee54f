import { type Finding, messageOf, ok, warning } from './finding.ts'

/** Milliseconds. */
const timeout = 5000

/** Checks that the address that clients use leads to a server. */
export async function checkPublicUrl(publicUrl: string): Promise<Finding> {
  const subject = 'Public address'
  try {
    const { status } = await fetch(`${publicUrl}/healthz`, { signal: AbortSignal.timeout(timeout) })
    if (status === 200) return ok(subject, `${publicUrl} leads to a server.`)
    return warning(subject, `${publicUrl}/healthz responds with ${status}: start the server, or correct the proxy.`)
  } catch (error) {
    const cause = error instanceof Error && error.cause ? error.cause : error
    return warning(subject, `${publicUrl} cannot be reached from here: ${messageOf(cause)}`)
  }
}
