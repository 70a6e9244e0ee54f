/** Unfinished writes: they go to a folder that no listing shows, and are renamed when they are whole. */
import { randomUUID } from 'node:crypto'
import { pipeline, type Readable, Transform } from 'node:stream'
import { type Call, childOf, orAborted, StorageError, type StoragePath, segmentsOf } from '../contract.ts'
import { isRefusal } from './errors.ts'
import type { PlainFiles } from './files.ts'

export const stagingName = '.stowage-staging'
const folder = stagingName as StoragePath
/** Milliseconds: a day, longer than any write. */
const maxAge = 24 * 60 * 60 * 1000
/** Milliseconds to make the folder. */
const makeTime = 30_000
/** Milliseconds to remove an unfinished write after a failure. */
const cleanTime = 4_000

/** @throws INVALID_PATH for a path in the staging folder of this provider, or of another one in it */
export function refuseStaging(path: StoragePath): void {
  if (!segmentsOf(path).includes(stagingName)) return
  throw new StorageError('INVALID_PATH', `The name "${stagingName}" is reserved: choose another one.`)
}

/** Counts the bytes of a body, and remembers its error, which the caller reports as it is. */
export class Source {
  sent = 0
  failure: { error: unknown } | undefined
  /** The same bytes. Destroying it destroys the body. */
  readonly stream: Readable

  constructor(body: Readable) {
    const stream = new Transform({
      transform: (chunk: Buffer, _, done) => {
        this.sent += chunk.length
        done(null, chunk)
      },
    })
    // Once the stream is destroyed, the error of the body is only a consequence.
    const fail = (error: unknown) => {
      if (!stream.destroyed) this.failure ??= { error }
    }
    if (body.errored) fail(body.errored)
    body.once('error', fail).once('close', () => {
      if (!body.readableEnded) fail(new Error('The body was destroyed before its end'))
    })
    pipeline(body, stream, () => {})
    this.stream = stream
  }
}

export class Staging {
  readonly #files: PlainFiles
  #made: Promise<void> | undefined

  constructor(files: PlainFiles) {
    this.#files = files
  }

  /** Stores a whole body. @throws UNAVAILABLE where the server stored another size */
  async store(source: Source, options: Call & { modifiedAt?: Date }): Promise<StoragePath> {
    return await this.fill(options, async path => {
      await this.#files.store(path, source.stream, options)
      const stored = await this.#files.find(path, { signal: options.signal })
      if (stored?.size === source.sent) return
      const message = `The server stored ${stored?.size ?? 'none'} of ${source.sent} bytes: try again.`
      throw new StorageError('UNAVAILABLE', message)
    })
  }

  /** Resolves with the path of an unfinished write, once `work` has stored it there. */
  async fill({ signal }: Call, work: (path: StoragePath) => Promise<unknown>): Promise<StoragePath> {
    const path = childOf(folder, randomUUID())
    try {
      // All writes share this call, so none of them aborts it.
      this.#made ??= this.#files.makeFolder(folder, { signal: AbortSignal.timeout(makeTime) }).catch(error => {
        if (!isRefusal(error)) throw error
      })
      await orAborted(this.#made, signal)
      await work(path)
      return path
    } catch (error) {
      // Another program may have removed the folder.
      this.#made = undefined
      await this.discard(path)
      throw error
    }
  }

  /** Removes an unfinished write. One that stays is removed when a provider is opened a day later. */
  async discard(path: StoragePath): Promise<void> {
    await this.#files.removeFile(path, { signal: AbortSignal.timeout(cleanTime) }).catch(() => {})
  }

  /** Removes the unfinished writes that killed servers left. */
  async sweep(call: Call): Promise<void> {
    const left = await this.#files.list(folder, call).catch(error => {
      if (isRefusal(error)) return []
      throw error
    })
    const old = left.filter(({ modifiedAt }) => modifiedAt && Date.now() - modifiedAt.getTime() > maxAge)
    for (const { name } of old) await this.#files.removeFile(childOf(folder, name), call).catch(() => {})
  }
}
