import type { FileHandle } from 'node:fs/promises'

/**
 * Closes a handle that nothing was written to. That cannot fail, so nobody waits for it. Call this only after all calls with a
 * path below the handle have settled.
 */
export function release(handle: FileHandle): void {
  handle.close().catch(() => {})
}
