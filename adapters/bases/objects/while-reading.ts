import type { Readable } from 'node:stream'

/** Runs work that reads a body, and destroys the body when the work fails or the signal aborts. @throws the signal's reason */
export async function whileReading<T>(body: Readable, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const onAbort = () => body.destroy(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    return await work()
  } catch (error) {
    body.destroy()
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
