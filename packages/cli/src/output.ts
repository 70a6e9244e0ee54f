import { once } from 'node:events'
import { type DescribedError, describe } from './errors.ts'
import { exitCodes } from './exit-code.ts'
import { printable, printableJson } from './terminal/printable.ts'

interface Streams {
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
}

interface OutputOptions extends Streams {
  isJson: boolean
  isQuiet: boolean
  /** Whether the standard error is a terminal that can show a bar. */
  isTerminal: boolean
  signal: AbortSignal
}

/** Writes results to the standard output, and everything else to the standard error. */
export class Output {
  readonly isJson: boolean
  /** Whether a bar shows the progress, instead of a line for each step. */
  readonly hasBar: boolean
  readonly #isQuiet: boolean
  readonly #streams: Streams
  readonly #signal: AbortSignal
  #bar = ''
  #draining: Promise<unknown> | undefined
  #failureCode: DescribedError['exitCode'] | null = null
  #failures = 0

  constructor({ stdout, stderr, isJson, isQuiet, isTerminal, signal }: OutputOptions) {
    this.#streams = { stdout, stderr }
    this.isJson = isJson
    this.#isQuiet = isQuiet
    this.hasBar = isTerminal && !isJson && !isQuiet
    this.#signal = signal
  }

  /** The exit code of the failures: their own if all have the same, otherwise 1. Null if nothing failed. */
  get failureCode(): DescribedError['exitCode'] | null {
    return this.#failureCode
  }

  get failures(): number {
    return this.#failures
  }

  /** Prints a result: an object with `--json`, otherwise a text, which can have several lines. */
  async result(record: object, text: string): Promise<void> {
    const lines = this.isJson ? [printableJson(record)] : text.split('\n').map(printable)
    await this.write(`${lines.join('\n')}\n`)
  }

  /** Reports a step of a longer work: a line, unless a bar shows the progress. */
  async step(record: object, text: string): Promise<void> {
    if (this.isJson) await this.result(record, text)
    else if (!this.hasBar) this.note(text)
  }

  /** Reports the end of a longer work. */
  async summary(record: object, text: string): Promise<void> {
    if (this.isJson) await this.result(record, text)
    else this.note(text)
  }

  /** Tells the person something. */
  note(text: string): void {
    if (!this.#isQuiet && !this.isJson) this.#writeMessage(printable(text))
  }

  /** Warns of something that a person must know, also with `--quiet`. */
  warn(text: string): void {
    this.#writeMessage(this.isJson ? printableJson({ warning: text }) : `stowage: ${printable(text)}`)
  }

  /** Reports a failure, after which the command can continue with other things. @throws the error if it is a bug */
  failure(error: unknown, subject?: string): void {
    const { message, reason, exitCode } = describe(error)
    this.#failureCode = this.#failures === 0 || this.#failureCode === exitCode ? exitCode : exitCodes.failure.code
    this.#failures += 1
    if (this.isJson) {
      this.#writeMessage(printableJson({ error: { reason, message, ...(subject !== undefined && { subject }) } }))
    } else this.#writeMessage(`stowage: ${printable(subject === undefined ? message : `${subject}: ${message}`)}`)
  }

  /** Writes bytes to the standard output, not faster than its reader reads. */
  async write(content: string | Uint8Array): Promise<void> {
    this.#signal.throwIfAborted()
    this.#clearBar()
    const { stdout } = this.#streams
    const isFull = !stdout.write(content)
    this.#drawBar()
    if (isFull) await this.#drained()
  }

  /** Several files can wait for the reader at the same time. */
  async #drained(): Promise<void> {
    this.#draining ??= once(this.#streams.stdout, 'drain', { signal: this.#signal })
    try {
      await this.#draining
    } finally {
      this.#draining = undefined
    }
  }

  /** Shows a line below everything else, or removes it. */
  showBar(text: string): void {
    if (!this.hasBar) return
    this.#clearBar()
    this.#bar = text
    this.#drawBar()
  }

  get columns(): number {
    return this.#streams.stderr.columns ?? 80
  }

  #writeMessage(line: string): void {
    this.#clearBar()
    this.#streams.stderr.write(`${line}\n`)
    this.#drawBar()
  }

  #clearBar(): void {
    if (this.#bar !== '') this.#streams.stderr.write('\r\x1b[K')
  }

  #drawBar(): void {
    if (this.#bar !== '') this.#streams.stderr.write(this.#bar)
  }
}
