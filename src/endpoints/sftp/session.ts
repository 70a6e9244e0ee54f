/**
 * One session of SFTP on a channel of SSH: reads requests, runs a bounded number of them at a time, and sends their responses. It reads
 * nothing more while there is enough to do, or while the client does not take what was sent.
 */
import type { Duplex } from 'node:stream'
import { type AppError, toAppError } from '../../errors.ts'
import { ClientGone } from '../../http/connection/client-abort.ts'
import { type Status, statusOf } from './errors.ts'
import { answerInit, readRequest, type SftpOperation, type SftpRequest, statusIn, statusResponse } from './messages.ts'
import { copyBytes, Operations, type OperationsContext } from './operations.ts'
import { MalformedPacket, PacketCutter } from './wire.ts'

/** Requests of a session at the same time. */
const maxRunning = 64
/** Bytes of content that these requests read or write. One request can have more. */
const maxRunningBytes = 512 * 1024
/** Milliseconds for the requests that run when the client has sent its last one. */
const finishTime = 30 * 60 * 1000
/** READ and WRITE requests that count together as one request, as a part of a file does over HTTP. */
const requestsPerCount = 256
/** Bytes that wait to be sent before further requests wait. */
const maxUnsent = 256 * 1024

export interface SessionOptions extends Omit<OperationsContext, 'signal'> {
  channel: Duplex
  /** Bytes that the connection has not sent yet. */
  unsent: () => number
  /** Calls the function when the connection has sent everything. */
  onDrain: (resume: () => void) => void
  /** Aborts when the connection ends. */
  signal: AbortSignal
  /** Aborts when no further request may start, because the server stops. */
  stopping: AbortSignal
  /** Called for each request. Returns a function that is called when it has ended. */
  onRequest: () => () => void
  /** Called for an error of the server. */
  onFault: (error: AppError) => void
  observe: ObserveSftpRequest
}

/** Called when a request has ended. @param status of the response, as `status` has it; a response with a result is OK @param time in milliseconds */
export type ObserveSftpRequest = (request: SftpOperation['kind'], status: Status, time: number) => void

/** Serves a session. Resolves when it has ended and everything that it had open is closed. */
export async function serveSession(options: SessionOptions): Promise<void> {
  const { channel, signal, stopping } = options
  const ended = Promise.withResolvers<unknown>()
  const ending = new AbortController()
  const operations = new Operations({ ...options, signal: ending.signal })
  const session = new SftpSession(options, operations, error => ended.resolve(error))
  const abort = () => ended.resolve(signal.reason)
  const stop = () => session.drain().then(() => ended.resolve(new ClientGone('The server stops')))
  signal.addEventListener('abort', abort, { once: true })
  stopping.addEventListener('abort', stop, { once: true })
  channel.on('data', (chunk: Buffer) => session.receive(chunk))
  channel.on('error', error => ended.resolve(error))
  // A client may send all of its requests, and then wait for their end: what it has sent still happens.
  channel.once('end', () => session.finish().then(() => ended.resolve(null)))
  channel.once('close', () => ended.resolve(null))
  const reason = await ended.promise
  session.stop()
  ending.abort(reason ?? new ClientGone('The client has ended the session'))
  signal.removeEventListener('abort', abort)
  stopping.removeEventListener('abort', stop)
  await operations.close(reason)
}

class SftpSession {
  readonly #options: SessionOptions
  readonly #operations: Operations
  readonly #fail: (error: unknown) => void
  readonly #cutter = new PacketCutter()
  #hasBegun = false
  #isStopped = false
  readonly #finished = Promise.withResolvers<void>()
  #isFinishing = false
  #isDraining = false
  #waiting: SftpRequest[] = []
  #running = 0
  #runningBytes = 0
  #awaitsDrain = false
  /** READ and WRITE requests since the last that were counted. */
  #uncounted = 0
  /** Whether the rate limit allows no request at present. */
  #isHeld = false

  constructor(options: SessionOptions, operations: Operations, fail: (error: unknown) => void) {
    this.#options = options
    this.#operations = operations
    this.#fail = fail
  }

  receive(chunk: Buffer): void {
    if (this.#isStopped || this.#isDraining) return
    try {
      for (const packet of this.#cutter.cut(chunk)) {
        if (this.#hasBegun) this.#waiting.push(readRequest(packet))
        else this.#options.channel.write(answerInit(packet))
        this.#hasBegun = true
      }
    } catch (error) {
      if (!(error instanceof MalformedPacket)) throw error
      this.stop()
      this.#fail(error)
      return
    }
    this.#advance()
  }

  /** Resolves when all requests have ended, or have taken too long. */
  finish(): Promise<void> {
    this.#isFinishing = true
    const timeout = setTimeout(() => this.#finished.resolve(), finishTime).unref()
    this.#advance()
    return this.#finished.promise.finally(() => clearTimeout(timeout))
  }

  /** Drops what has not started, and resolves as `finish`. */
  drain(): Promise<void> {
    this.#isDraining = true
    this.#waiting = []
    return this.finish()
  }

  stop(): void {
    this.#isStopped = true
    this.#waiting = []
    this.#finished.resolve()
  }

  #advance(): void {
    const { channel } = this.#options
    for (let next = this.#waiting[0]; next && this.#mayStart(next); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#count(next)
      void this.#run(next)
    }
    if (this.#isFinishing && this.#running === 0 && this.#waiting.length === 0) this.#finished.resolve()
    if (this.#waiting.length > 0 || this.#isCongested()) channel.pause()
    else if (!this.#isStopped) channel.resume()
  }

  #mayStart({ operation }: SftpRequest): boolean {
    if (this.#isStopped || this.#isHeld || this.#running >= maxRunning || this.#isCongested()) return false
    return this.#running === 0 || this.#runningBytes + weightOf(operation) <= maxRunningBytes
  }

  /** Counts the requests that read or write content. The next ones wait for the rate limit, so that requests keep their order. */
  #count({ operation: { kind } }: SftpRequest): void {
    if (kind !== 'read' && kind !== 'write') return
    this.#uncounted += 1
    if (this.#uncounted < requestsPerCount) return
    this.#uncounted = 0
    this.#isHeld = true
    const goOn = () => {
      this.#isHeld = false
      this.#advance()
    }
    // After an error, these requests have waited for as long as a request does. The end of a credential ends the connection.
    this.#options.viewer(this.#options.signal, null).then(goOn, goOn)
  }

  #isCongested(): boolean {
    const { channel, unsent, onDrain } = this.#options
    if (channel.writableLength + unsent() < maxUnsent) return false
    if (!this.#awaitsDrain && unsent() > 0) {
      this.#awaitsDrain = true
      onDrain(() => {
        this.#awaitsDrain = false
        this.#advance()
      })
    }
    return true
  }

  async #run({ id, operation }: SftpRequest): Promise<void> {
    const weight = weightOf(operation)
    const onEnd = this.#options.onRequest()
    this.#running += 1
    this.#runningBytes += weight
    const start = performance.now()
    let response: Buffer
    try {
      response = await this.#operations.run(id, operation)
    } catch (thrown) {
      const error = toAppError(thrown)
      // An operation that the end of the session interrupts is no fault.
      if (error.status >= 500 && !this.#isStopped) this.#options.onFault(error)
      response = statusResponse(id, statusOf(error), `${error.message} (${error.reason})`)
    }
    this.#options.observe(operation.kind, statusIn(response), performance.now() - start)
    onEnd()
    this.#running -= 1
    this.#runningBytes -= weight
    if (this.#isStopped) return
    this.#options.channel.write(response, () => this.#advance())
    this.#advance()
  }
}

function weightOf(operation: SftpOperation): number {
  if (operation.kind === 'read') return operation.length
  if (operation.kind === 'copy-data') return copyBytes
  return operation.kind === 'write' ? operation.bytes.length : 0
}
