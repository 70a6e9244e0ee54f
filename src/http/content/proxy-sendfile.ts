/**
 * Lets the proxy send a file from disk (`X-Accel-Redirect`, `X-Sendfile`). Stowage decides who may read the file; the proxy
 * opens the path again.
 */
import { lstat, readlink } from 'node:fs/promises'
import type { FastifyRequest } from 'fastify'
import type { Sendfile } from '../../settings/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'

/** The proxy would evaluate these with its own validators. */
const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'] as const

/** A request came through the proxy only if its `X-Forwarded-For` was trusted. */
export function canProxySend({ method, headers, ips }: FastifyRequest): boolean {
  return method === 'GET' && (ips?.length ?? 0) > 1 && conditions.every(name => headers[name] === undefined)
}

/**
 * Returns the header that names the file; null if the content is not a file on disk, or was just removed or replaced.
 * @throws as `ReadLocation.openFile`
 */
export async function proxySendfileHeader(
  { header, prefix }: Sendfile,
  location: ReadLocation,
  etag: string | null,
  signal: AbortSignal,
): Promise<Record<string, string> | null> {
  const file = await location.openFile(signal, etag === null ? {} : { ifMatch: etag })
  if (!file) return null
  try {
    // The kernel resolves the path without symbolic links: proc_pid_fd(5).
    const path = await readlink(`/proc/self/fd/${file.handle.fd}`, { encoding: 'buffer' })
    const [opened, named] = await Promise.all([file.handle.stat(), lstat(path)])
    return opened.ino === named.ino && opened.dev === named.dev ? { [header]: prefix + encodePath(path) } : null
  } catch {
    return null
  } finally {
    await file.handle.close()
  }
}

/** nginx and the X-Sendfile modules decode percent-encoding. */
function encodePath(path: Buffer): string {
  return path.toString('latin1').replace(/[^\w/.~-]/g, byte => {
    return `%${byte.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`
  })
}
