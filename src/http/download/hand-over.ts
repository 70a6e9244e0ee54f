/**
 * Leaves the bytes of a file on disk to the server in front (`X-Accel-Redirect`, `X-Sendfile`): who may have them is
 * decided here as ever, and the front server opens the path once more.
 */
import { lstat, readlink } from 'node:fs/promises'
import type { FastifyRequest } from 'fastify'
import type { HandOver } from '../../settings.ts'
import type { ReadLocation } from '../../storage/location.ts'

/** What the front server would decide by validators of its own. */
const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'] as const

/** Only a request whose `X-Forwarded-For` was believed came through the front server. */
export function mayHandOver({ method, headers, ips }: FastifyRequest): boolean {
  return method === 'GET' && (ips?.length ?? 0) > 1 && conditions.every(name => headers[name] === undefined)
}

/**
 * The header that names the file; null where its bytes are no file on disk, or it has just been removed or replaced.
 * @throws as `ReadLocation.openFile`
 */
export async function handOverHeader(
  { header, prefix }: HandOver,
  location: ReadLocation,
  etag: string | null,
  signal: AbortSignal,
): Promise<Record<string, string> | null> {
  const file = await location.openFile(signal, etag === null ? {} : { ifMatch: etag })
  if (!file) return null
  try {
    // The path without symbolic links, as the kernel knows it: proc_pid_fd(5).
    const path = await readlink(`/proc/self/fd/${file.handle.fd}`, { encoding: 'buffer' })
    const [opened, named] = await Promise.all([file.handle.stat(), lstat(path)])
    return opened.ino === named.ino && opened.dev === named.dev ? { [header]: prefix + encodePath(path) } : null
  } catch {
    return null
  } finally {
    await file.handle.close()
  }
}

/** Both nginx and the modules for X-Sendfile take percent-encoding out again. */
function encodePath(path: Buffer): string {
  return path.toString('latin1').replace(/[^\w/.~-]/g, byte => {
    return `%${byte.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`
  })
}
