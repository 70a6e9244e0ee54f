import { StowageError } from '../../api/client.ts'
import type { Conflict } from '../operations.ts'
import type { UploadTarget } from './target.ts'
import {
  fingerprintOf,
  forgetUnfinished,
  lockFingerprint,
  rememberUnfinished,
  urlOfUnfinished,
} from './unfinished-uploads.ts'

/** The number of server errors in a row after which an upload fails, which takes about a minute. A lost network has no limit. */
const maxFailures = 10

interface TransferInput {
  target: UploadTarget
  userId: string
  providerId: string
  /** The path of the file to create. */
  path: string
  file: File
  conflict: Conflict
  onProgress: (sent: number) => void
  /** Called after a temporary failure, before the upload continues. */
  onRetry: (error: StowageError) => void
  /** Called with the path at which the file was stored. */
  onDone: (storedPath: string) => void
  onError: (error: unknown) => void
}

/** Uploads one file. */
export class Transfer {
  readonly #input: TransferInput
  readonly #fingerprint: string
  /** The address of the unfinished upload. */
  #url: string | undefined
  /** Lets the server recognize a small file that it has stored although the response was lost. */
  #idempotencyKey = newKey()
  #running: AbortController | null = null
  #unlock: (() => void) | null = null

  constructor(input: TransferInput) {
    this.#input = input
    this.#fingerprint = fingerprintOf(input)
    this.#url = urlOfUnfinished(this.#fingerprint)
  }

  /** Starts or resumes the upload, from the last byte that the server stored. */
  start(): void {
    const running = new AbortController()
    this.#running = running
    const ifRunning =
      <T>(act: (value: T) => void) =>
      (value: T) => {
        if (this.#running === running) act(value)
      }
    this.#upload(running.signal, ifRunning(this.#input.onProgress), ifRunning(this.#input.onRetry)).then(
      ifRunning(this.#input.onDone),
      ifRunning(this.#input.onError),
    )
  }

  pause(): void {
    this.#running?.abort()
    this.#running = null
  }

  /** Stops the upload and deletes it on the server. @throws StowageError */
  async cancel(): Promise<void> {
    this.pause()
    const url = this.#url
    this.#forget()
    if (url !== undefined) await this.#input.target.discard(url)
  }

  /** Unlocks the upload for other tabs. */
  release(): void {
    this.#unlock?.()
    this.#unlock = null
  }

  async #upload(
    signal: AbortSignal,
    onProgress: (sent: number) => void,
    onRetry: (error: StowageError) => void,
  ): Promise<string> {
    const { file: body, conflict, target, ...input } = this.#input
    try {
      const path = await target.upload({
        providerId: input.providerId,
        path: input.path,
        body,
        conflict: conflict.toLowerCase() as Lowercase<Conflict>,
        signal,
        onProgress,
        idempotencyKey: this.#idempotencyKey,
        shouldRetry(error, failures) {
          const isTemporary = error.retryable && (error.reason === 'NETWORK' || failures < maxFailures)
          if (isTemporary) onRetry(error)
          return isTemporary
        },
        resume: { url: this.#url, onStart: url => this.#remember(url) },
      })
      this.#forget()
      return path
    } catch (error) {
      // After any other error, the client deletes the upload.
      const isKept = signal.aborted || (error instanceof StowageError && error.retryable)
      if (!isKept) this.#forget()
      throw error
    }
  }

  #remember(url: string): void {
    this.#url = url
    if (!this.#input.target.isRemembered) return
    this.#unlock ??= lockFingerprint(this.#fingerprint)
    rememberUnfinished(this.#fingerprint, url, this.#input)
  }

  #forget(): void {
    this.#url = undefined
    this.#idempotencyKey = newKey()
    forgetUnfinished(this.#fingerprint)
    this.release()
  }
}

function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}

/** Milliseconds over which the speed is averaged. */
const averagingTime = 5000

/** Measures the current upload speed. */
export class Speed {
  #samples: { at: number; bytes: number }[] = []

  add(bytes: number): void {
    const at = performance.now()
    const last = this.#samples.at(-1)
    // Progress events are frequent, so close ones share a sample.
    if (last && at - last.at < 100) last.bytes += bytes
    else this.#samples.push({ at, bytes })
  }

  /** Returns bytes per second; 0 if nothing was sent recently. */
  perSecond(): number {
    const now = performance.now()
    this.#samples = this.#samples.filter(({ at }) => now - at < averagingTime)
    const [first] = this.#samples
    if (!first) return 0
    const bytes = this.#samples.reduce((sum, sample) => sum + sample.bytes, 0)
    return (bytes * 1000) / Math.max(now - first.at, 500)
  }
}
