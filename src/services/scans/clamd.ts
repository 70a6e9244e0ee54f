/** A client of clamd, the daemon of ClamAV: https://docs.clamav.net/manual/Usage/Scanning.html#clamd */
import { connect, type Socket } from 'node:net'
import { withTimeout } from '../../lib/timeout.ts'

/** A Unix socket, or an address on the network. */
export type ClamdAddress = { path: string } | { host: string; port: number }

/** Milliseconds. */
export interface ClamdTimeouts {
  connect: number
  /** Without progress while clamd takes the content. */
  progress: number
  /** From the last byte to the answer: clamd scans only then, and may have others to scan before. */
  answer: number
}

export const usualTimeouts: ClamdTimeouts = { connect: 10_000, progress: 60_000, answer: 300_000 }

/** clamd did not say whether the content is infected. */
export class ScanFailure extends Error {
  override name = 'ScanFailure'
  /** The content is longer than the StreamMaxLength of clamd. */
  readonly isTooLong: boolean
  /** `isTooLong` is a guess: clamd closed the connection without an answer, as it also does when it is restarted. */
  readonly isGuess: boolean

  constructor(message: string, options: { isTooLong?: boolean; isGuess?: boolean; cause?: unknown } = {}) {
    const { isTooLong = false, isGuess = false, cause } = options
    super(message, { cause })
    this.isTooLong = isTooLong
    this.isGuess = isGuess
  }
}

/** Characters of an answer. */
const maxAnswer = 4096
/** Characters of the name of a signature. */
const maxSignature = 200
/** A NUL ends each command and each answer. */
const end = '\0'

/** A connection for one command. */
class ClamdConnection implements Disposable {
  readonly #socket: Socket
  readonly #signal: AbortSignal
  readonly #answer = Promise.withResolvers<string>()
  /** Resolves when the connection is open, when more can be sent, and when clamd has answered or failed. */
  #progress = Promise.withResolvers<void>()
  #text = ''
  #isOver = false

  /** @param signal closes the connection */
  constructor(address: ClamdAddress, signal: AbortSignal) {
    this.#signal = signal
    this.#answer.promise.catch(() => {})
    this.#socket = connect(address)
    this.#socket
      .setNoDelay(true)
      .setEncoding('latin1')
      .on('connect', () => this.#progress.resolve())
      .on('drain', () => this.#progress.resolve())
      .on('data', part => this.#take(String(part)))
      .on('error', error => this.#fail(new ScanFailure('clamd cannot be reached', { cause: error })))
      .on('close', () => this.#fail(new ScanFailure('clamd closed the connection')))
    signal.addEventListener('abort', this.#abort, { once: true })
    if (signal.aborted) this.#abort()
  }

  /** Whether clamd has answered or failed. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Resolves when the connection is open. @throws ScanFailure, the reason of the signal */
  async open(milliseconds: number): Promise<void> {
    await within(this.#progress.promise, milliseconds)
    if (this.#isOver) await this.#answer.promise
  }

  /** Resolves when more can be sent, or clamd has answered. @throws ScanFailure, the reason of the signal */
  async send(parts: readonly (string | Uint8Array)[], milliseconds: number): Promise<void> {
    if (!this.#isOver) {
      this.#progress = Promise.withResolvers()
      this.#socket.cork()
      const isFull = parts.map(part => this.#socket.write(part)).includes(false)
      this.#socket.uncork()
      if (isFull) await within(this.#progress.promise, milliseconds)
    }
    if (this.#isOver) await this.#answer.promise
  }

  /** @throws ScanFailure, the reason of the signal */
  answer(milliseconds: number): Promise<string> {
    return within(this.#answer.promise, milliseconds)
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#abort)
    this.#socket.destroy()
  }

  #take(part: string): void {
    if (this.#isOver) return
    this.#text += part
    const length = this.#text.indexOf(end)
    if (length >= 0) {
      this.#answer.resolve(this.#text.slice(0, length))
      this.#end()
    } else if (this.#text.length > maxAnswer) {
      this.#fail(new ScanFailure('clamd sent an answer that is too long'))
      this.#socket.destroy()
    }
  }

  readonly #abort = (): void => {
    this.#fail(this.#signal.reason)
    this.#socket.destroy()
  }

  #fail(error: unknown): void {
    this.#answer.reject(error)
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#progress.resolve()
  }
}

function within<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  return withTimeout(work, milliseconds, () => new ScanFailure(`clamd did not respond for ${milliseconds / 1000} s`))
}

/** One content on its way through clamd. */
export class ClamdScan implements Disposable {
  readonly #address: ClamdAddress
  readonly #connection: ClamdConnection
  readonly #timeouts: ClamdTimeouts

  private constructor(address: ClamdAddress, connection: ClamdConnection, timeouts: ClamdTimeouts) {
    this.#address = address
    this.#connection = connection
    this.#timeouts = timeouts
  }

  /** @param signal cancels the scan @throws ScanFailure, the reason of the signal */
  static async begin(address: ClamdAddress, timeouts: ClamdTimeouts, signal: AbortSignal): Promise<ClamdScan> {
    const connection = new ClamdConnection(address, signal)
    try {
      await connection.open(timeouts.connect)
      await connection.send([`zINSTREAM${end}`], timeouts.progress)
      return new ClamdScan(address, connection, timeouts)
    } catch (error) {
      connection[Symbol.dispose]()
      throw error
    }
  }

  /** Sends bytes as fast as clamd takes them. @throws ScanFailure, the reason of the signal */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#send([lengthOf(bytes), bytes])
  }

  /** Returns the name of the signature that the content has, or null if it is clean. @throws ScanFailure, the reason of the signal */
  async finish(): Promise<string | null> {
    await this.#send([lengthOf([])])
    return signatureIn(await this.#connection.answer(this.#timeouts.answer))
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]()
  }

  async #send(parts: readonly Uint8Array[]): Promise<void> {
    const { progress } = this.#timeouts
    try {
      // An answer before the end can only be a failure.
      if (this.#connection.isOver) throw failureOf(await this.#connection.answer(progress))
      await this.#connection.send(parts, progress)
    } catch (error) {
      if (!(await this.#isCut(error))) throw error
      const message = 'clamd closed the connection in the middle of a file, which is too long, or clamd was restarted'
      throw new ScanFailure(message, { isTooLong: true, isGuess: true, cause: error })
    }
  }

  /**
   * Returns whether clamd has closed the connection in the middle of the content, and still responds to other connections. The content is
   * then probably too long: clamd says so before it closes, but a reset connection loses what was not read yet.
   */
  async #isCut(error: unknown): Promise<boolean> {
    const { code } = Object(error instanceof ScanFailure ? error.cause : null)
    if (code !== 'ECONNRESET' && code !== 'EPIPE') return false
    return clamdVersion(this.#address, this.#timeouts).then(
      () => true,
      () => false,
    )
  }
}

/** Returns the version of clamd and of its signatures, such as "ClamAV 1.4.3/27822/Tue Nov 24 09:26:02 2026". @throws ScanFailure */
export async function clamdVersion(address: ClamdAddress, timeouts: ClamdTimeouts): Promise<string> {
  using connection = new ClamdConnection(address, AbortSignal.timeout(timeouts.connect + timeouts.progress))
  await connection.open(timeouts.connect)
  await connection.send([`zVERSION${end}`], timeouts.progress)
  const version = await connection.answer(timeouts.progress)
  if (!version.startsWith('ClamAV ')) throw new ScanFailure('The server there is no clamd')
  return printable(version)
}

/** The length of a chunk, or 0 at the end. */
function lengthOf({ length }: { length: number }): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt32BE(length)
  return header
}

/** @throws ScanFailure */
function signatureIn(answer: string): string | null {
  if (answer === 'stream: OK') return null
  if (answer.startsWith('stream: ') && answer.endsWith(' FOUND')) {
    return printable(answer.slice('stream: '.length, -' FOUND'.length))
  }
  throw failureOf(answer)
}

function failureOf(answer: string): ScanFailure {
  const isTooLong = answer.startsWith('INSTREAM size limit exceeded')
  return new ScanFailure(`clamd answered "${printable(answer)}"`, { isTooLong })
}

/** A name is shown to people and stored. */
function printable(text: string): string {
  return text.slice(0, maxSignature).replace(/[^\x20-\x7e]/g, '?')
}
