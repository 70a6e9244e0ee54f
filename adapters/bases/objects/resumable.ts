/** Uploads in several requests. The store keeps the parts; the state, which the host keeps, has only the number of the next one. */
import type { Readable } from 'node:stream'
import { type Call, type Entry, nameOf, type ResumableWrites, type StoragePath } from '../../contract.ts'
import { requireBytes, requireOffset, uploadNotFound } from '../errors.ts'
import { parseJson } from '../upload-state.ts'
import type { Destination, NewFile, ObjectDriver, UploadRef } from './driver.ts'
import type { Folders } from './folders.ts'
import { BodyReader, maxParts, type PartLimits, planFor, planParts } from './parts.ts'

interface State {
  path: StoragePath
  id: string
  /** Bytes per part. */
  part: number
  /** The number of the next part. */
  next: number
  /** Bytes received so far. */
  offset: number
  type?: string
  /** The modification time of the file, in milliseconds since 1970. */
  time?: number
}

interface AppendOptions extends Call {
  offset: number
  size: number
  /** Whether these are the last bytes of the file. */
  isLast: boolean
}

export function resumableWrites<Facts extends object>(
  driver: ObjectDriver<Facts>,
  folders: Folders<Facts>,
): ResumableWrites {
  const { keys, limits, uploads } = driver
  const refOf = ({ id, path }: State): UploadRef => ({ id, key: keys.file(path) })

  /** Sends a body as the next parts. A repeated call sends the same numbers again and so replaces the parts of the call before. */
  const append = (text: string, body: Readable, { signal, offset, size, isLast }: AppendOptions) =>
    whileReading(body, signal, async (): Promise<State> => {
      const state = parseState(text)
      requireOffset(offset, state.offset)
      const part = isLast ? state.part : evenPart(size, state.part)
      const options = { first: state.next, partPlan: planFor(part, limits), size, signal }
      const { bytes, count } = await uploads.send(refOf(state), body, new BodyReader(body), options)
      requireBytes(bytes, size)
      return { ...state, part, next: state.next + count, offset: offset + size }
    })

  /** Checks the destination, and passes it to `store`. */
  const publish = async (
    { path, type, time }: State,
    { signal, overwrite }: Call & { overwrite: boolean },
    store: (destination: Destination, file: NewFile) => Promise<Entry>,
  ): Promise<Entry> => {
    const destination = { key: keys.file(path), name: nameOf(path), overwrite, signal }
    await Promise.all([driver.prepare?.(), folders.refuseFolder(path, overwrite, signal)])
    signal.throwIfAborted()
    const file = { mimeType: type, modifiedAt: time === undefined ? undefined : new Date(time) }
    const entry = await store(destination, file)
    folders.noteFile(path)
    return entry
  }

  return {
    partSize: limits.partBytes,
    partMultiple: 1,
    maxAppends: maxParts,

    async begin(path, { signal, unfinished, ...file }): Promise<string> {
      const key = keys.file(path)
      await folders.refuseFolder(path, true, signal)
      signal.throwIfAborted()
      const { size, mimeType, modifiedAt } = file
      const id = await uploads.begin(path, key, { mimeType, modifiedAt, unfinished })
      const kept = { ...(mimeType && { type: mimeType }), ...(modifiedAt && { time: modifiedAt.getTime() }) }
      return JSON.stringify({ path, id, part: partBytesFor(size, limits), next: 1, offset: 0, ...kept } satisfies State)
    },

    append: async (text, body, options) => JSON.stringify(await append(text, body, { ...options, isLast: false })),

    async complete(text, body, { overwrite, ...options }): Promise<Entry> {
      const state = await append(text, body, { ...options, isLast: true })
      const upload = refOf(state)
      const { offset: size, next } = state
      return await publish(state, { signal: options.signal, overwrite }, async (destination, file) => {
        if (size > 0) return await uploads.join(upload, { count: next - 1, size }, destination, file)
        const entry = await driver.put(destination, file, Buffer.alloc(0))
        await uploads.free(upload)
        return entry
      })
    },

    async abort(text, { signal }: Call): Promise<void> {
      signal.throwIfAborted()
      await uploads.abort(text)
    },

    parts: {
      minSize: uploads.minPartSize,

      put: (text, body, { signal, number, size }) =>
        whileReading(body, signal, () => uploads.putPart(refOf(parseState(text)), body, { signal, number, size })),

      async complete(text, parts, { signal, size, overwrite }) {
        signal.throwIfAborted()
        const state = parseState(text)
        return await publish(state, { signal, overwrite }, (destination, file) =>
          uploads.joinParts(refOf(state), parts, size, destination, file),
        )
      },
    },
  }
}

function partBytesFor(size: number | undefined, limits: PartLimits): number {
  return Math.ceil(planParts(size, limits).partBytes / limits.partBytes) * limits.partBytes
}

/**
 * Returns the bytes of each part of an append: as many parts as of `part` bytes fit, of one length, because a short part would be refused
 * wherever another append follows.
 */
function evenPart(size: number, part: number): number {
  return size < part ? part : Math.ceil(size / Math.floor(size / part))
}

/** @throws NOT_FOUND */
function parseState(text: string): State {
  const state: Partial<State> = parseJson(text)
  if (typeof state.path === 'string' && typeof state.id === 'string' && Number.isSafeInteger(state.offset)) {
    return state as State
  }
  throw uploadNotFound()
}

/** Runs work that reads a body, and destroys the body when the work fails or the signal aborts. @throws the signal's reason */
async function whileReading<T>(body: Readable, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const onAbort = () => body.destroy(signal.reason)
  // The body may fail before it is read.
  body.on('error', () => {})
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
