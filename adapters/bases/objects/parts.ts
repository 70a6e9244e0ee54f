/** Bodies in parts: how they are cut, and how several parts are sent at once, for object stores that join parts to a file. */
import { Readable } from 'node:stream'
import { StorageError } from '../../contract.ts'
import { type PartMemory, takeMemory, waitForMemory } from './part-memory.ts'

const mib = 1024 * 1024

/** The maximum number of parts of a file: that of S3, which suffices for other object stores, too. */
export const maxParts = 10_000

export interface PartLimits {
  /** Bytes of a part. Very large files use larger parts. */
  partBytes: number
  /** The maximum number of bytes that one write buffers. The limit of the process is in part-memory.ts. */
  memoryBytes: number
}

/**
 * The plan for splitting a body into parts. All parts but the last have the same length, because some servers (R2)
 * require it.
 */
export interface PartPlan {
  partBytes: number
  /** The number of parts being sent while the next one is buffered; 0 where parts are too long to buffer. */
  atOnce: number
}

/** Plans parts for a file of `size` bytes; for an unknown size, 10,000 parts of twice the usual length. */
export function planParts(size: number | undefined, limits: PartLimits): PartPlan {
  const needed = size === undefined ? 2 * limits.partBytes : Math.ceil(size / maxParts / mib) * mib
  return planFor(Math.max(limits.partBytes, needed), limits)
}

export function planFor(partBytes: number, { memoryBytes }: PartLimits): PartPlan {
  return { partBytes, atOnce: Math.max(0, Math.floor(memoryBytes / partBytes) - 1) }
}

/** Reads a body part by part, buffered (`fill`) or streamed (`take`). Read each part to its end before the next. */
export class BodyReader {
  readonly #body: AsyncIterator<unknown>
  #rest: Buffer = Buffer.alloc(0)

  constructor(body: AsyncIterable<unknown>) {
    this.#body = body[Symbol.asyncIterator]()
  }

  /** Fills the buffer with the next bytes and returns their number, which is lower only at the end of the body. */
  async fill(buffer: Buffer): Promise<number> {
    let filled = 0
    while (filled < buffer.length) {
      const chunk = this.#rest.length > 0 ? this.#rest : await this.#next()
      if (chunk.length === 0) break
      const copied = chunk.copy(buffer, filled)
      this.#rest = chunk.subarray(copied)
      filled += copied
    }
    return filled
  }

  /** Returns a stream of the next `length` bytes, without buffering. It fails if the body ends early. */
  take(length: number): Readable {
    return Readable.from(this.#pieces(length), { objectMode: false })
  }

  /** @throws UNAVAILABLE where the body has more bytes than its stated size */
  async expectEnd(): Promise<void> {
    if (this.#rest.length > 0 || (await this.#next()).length > 0) throw wrongSize()
  }

  async *#pieces(length: number): AsyncGenerator<Buffer> {
    let left = length
    while (left > 0) {
      const chunk = this.#rest.length > 0 ? this.#rest : await this.#next()
      if (chunk.length === 0) throw wrongSize()
      const piece = chunk.subarray(0, left)
      this.#rest = chunk.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }

  /** Returns the next chunk; an empty buffer at the end. */
  async #next(): Promise<Buffer> {
    for (;;) {
      const { done, value } = await this.#body.next()
      if (done) return Buffer.alloc(0)
      const chunk = toBuffer(value)
      if (chunk.length > 0) return chunk
    }
  }
}

function toBuffer(chunk: unknown): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk as Uint8Array | string)
}

function wrongSize(): StorageError {
  return new StorageError('UNAVAILABLE', 'The file does not have the announced size: send it again.')
}

export interface SendOptions {
  partPlan: PartPlan
  /** Bytes of the body. Where it is undefined, each part is buffered first, because its request needs its length. */
  size: number | undefined
  signal: AbortSignal
  /** The number of the first part. Default: 1. */
  first?: number
  /** The first part, if the caller has already buffered it: its memory and the number of bytes in it. */
  buffered?: { memory: PartMemory; bytes: number } | undefined
}

export interface BodyPart {
  number: number
  /** A stream is sent as slowly as the client sends it, and cannot be sent again when its connection drops. */
  content: Buffer | Readable
  length: number
}

export interface SendLimits {
  /** Milliseconds that parts may continue after an abort. The host waits five seconds. */
  graceTime: number
  /** Milliseconds that a part of a file of unknown size waits for memory. */
  memoryTime: number
}

/**
 * Sends buffered parts concurrently. A part without memory is streamed alone. Settles only when no part is being sent any
 * more.
 * @param put sends one part. Its signal aborts some seconds after the caller's, so that a part is stored before it is freed.
 */
export async function sendParts(
  body: Readable,
  reader: BodyReader,
  { partPlan: { partBytes, atOnce }, size, signal, first = 1, buffered }: SendOptions,
  { graceTime, memoryTime }: SendLimits,
  put: (part: BodyPart, signal: AbortSignal) => Promise<void>,
): Promise<{ bytes: number; count: number }> {
  const sent = { bytes: 0, count: 0 }
  const failing = new AbortController()
  const ended = AbortSignal.any([signal, failing.signal])
  const underWay = new Set<Promise<void>>()
  const send = async (part: BodyPart) => {
    const { content } = part
    await withGrace(ended, graceTime, late => put(part, Buffer.isBuffer(content) ? late : withErrorsOf(content, late)))
    sent.count += 1
    sent.bytes += part.length
  }
  const putBuffered = async (number: number, { bytes, release }: PartMemory, length: number) => {
    let reusable = false
    try {
      await send({ number, content: bytes.subarray(0, length), length })
      reusable = true
    } catch (error) {
      // The first failure cancels the other parts, and the body, which might never end.
      failing.abort(error)
      body.destroy()
    } finally {
      release({ reusable })
    }
  }
  const memoryFor = async (length: number): Promise<PartMemory | undefined> => {
    if (size === undefined) return await waitForMemory(length, ended, memoryTime)
    if (atOnce === 0) return undefined
    let memory = takeMemory(length)
    // The parts that this write is sending soon free their memory.
    while (!memory && underWay.size > 0) {
      await Promise.race(underWay)
      memory = takeMemory(length)
    }
    return memory
  }
  const sendBuffered = (number: number, memory: PartMemory, bytes: number) => {
    const sending: Promise<void> = putBuffered(number, memory, bytes).then(() => void underWay.delete(sending))
    underWay.add(sending)
  }
  let number = first
  let consumed = 0
  if (buffered) {
    sendBuffered(number++, buffered.memory, buffered.bytes)
    consumed = buffered.bytes
  }
  try {
    while (consumed !== size) {
      if (underWay.size >= Math.max(1, atOnce)) await Promise.race(underWay)
      ended.throwIfAborted()
      const length = size === undefined ? partBytes : Math.min(partBytes, size - consumed)
      const memory = await memoryFor(length)
      let bytes = length
      if (memory) {
        bytes = await fillMemory(reader, memory)
        if (bytes > 0) refuseTooManyParts(number, memory)
        if (bytes > 0) sendBuffered(number, memory, bytes)
        else memory.release({ reusable: true })
      } else {
        refuseTooManyParts(number)
        await send({ number, content: reader.take(length), length })
      }
      number += 1
      consumed += bytes
      if (bytes < length) break
    }
    if (consumed === size) await reader.expectEnd()
  } catch (error) {
    failing.abort(error)
  }
  await Promise.all(underWay)
  signal.throwIfAborted()
  if (failing.signal.aborted) throw failing.signal.reason
  return sent
}

/** Fills the memory from the body and returns the number of bytes. Releases the memory when the body fails. */
export async function fillMemory(reader: BodyReader, { bytes, release }: PartMemory): Promise<number> {
  try {
    return await reader.fill(bytes)
  } catch (error) {
    release({ reusable: true })
    throw error
  }
}

/**
 * Returns a signal that also aborts when `piece` fails, because a request would wait forever. The server drops a part that is
 * cut short.
 */
function withErrorsOf(piece: Readable, signal: AbortSignal): AbortSignal {
  const failing = new AbortController()
  piece.once('error', error => failing.abort(error))
  return AbortSignal.any([signal, failing.signal])
}

/** @throws QUOTA_EXCEEDED */
function refuseTooManyParts(partNumber: number, memory?: PartMemory): void {
  if (partNumber > maxParts) {
    memory?.release({ reusable: true })
    throw new StorageError('QUOTA_EXCEEDED', 'The file is too large to be sent without its size: send the size first.')
  }
}

/**
 * Runs `work` under a signal that aborts `time` ms after `signal`, so that `work` can receive the response to a part
 * that is already sent. A server may store such a part after the upload was aborted. In Ceph 16 it then stays forever,
 * and at Amazon the upload has to be aborted again:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
 */
export async function withGrace<T>(
  signal: AbortSignal,
  time: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const onAbort = () => {
    timer = setTimeout(() => late.abort(signal.reason), time)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await work(late.signal)
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}
