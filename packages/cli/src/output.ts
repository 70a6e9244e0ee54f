import { type DescribedError, describe, exitCodes } from './errors.ts'
import type { Writer } from './terminal/writer.ts'

interface OutputOptions {
  isJson: boolean
  isQuiet: boolean
}

/** Writes results to the standard output, and everything else to the standard error. */
export class Output {
  readonly isJson: boolean
  /** Whether a bar shows the progress, instead of a line for each step. */
  readonly hasBar: boolean
  readonly #isQuiet: boolean
  readonly #writer: Writer
  #failureCode: DescribedError['exitCode'] | null = null
  #failures = 0

  constructor(writer: Writer, { isJson, isQuiet }: OutputOptions) {
    this.#writer = writer
    this.isJson = isJson
    this.#isQuiet = isQuiet
    this.hasBar = writer.hasTerminal && !isJson && !isQuiet
  }

  /** The exit code of the failures: their own if all have the same, otherwise 1. Null if nothing failed. */
  get failureCode(): DescribedError['exitCode'] | null {
    return this.#failureCode
  }

  get failures(): number {
    return this.#failures
  }

  /** Prints a result: an object with `--json`, otherwise lines. A line break inside of one is printed as an escape. */
  async result(record: object, ...lines: readonly string[]): Promise<void> {
    await this.#writer.lines(this.isJson ? [JSON.stringify(record)] : lines)
  }

  /** Prints lines also with `--json`. */
  async print(lines: readonly string[]): Promise<void> {
    await this.#writer.lines(lines)
  }

  /** Prints a part of a file, unchanged. */
  async content(bytes: Uint8Array): Promise<void> {
    await this.#writer.content(bytes)
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
    if (!this.#isQuiet && !this.isJson) this.#writer.message(text)
  }

  /** Warns of something that a person must know, also with `--quiet`. */
  warn(text: string): void {
    this.#writer.message(this.isJson ? JSON.stringify({ warning: text }) : `stowage: ${text}`)
  }

  /** Reports a failure, after which the command can continue with other things. @throws the error if it is a bug */
  failure(error: unknown, subject?: string): void {
    const { message, reason, exitCode } = describe(error)
    this.#failureCode = this.#failures === 0 || this.#failureCode === exitCode ? exitCode : exitCodes.failure.code
    this.#failures += 1
    if (this.isJson) {
      this.#writer.message(JSON.stringify({ error: { reason, message, ...(subject !== undefined && { subject }) } }))
    } else this.#writer.message(`stowage: ${subject === undefined ? message : `${subject}: ${message}`}`)
  }

  /** Asks a question and resolves with the answer. @throws CommandError if the input ends, and the reason of the signal */
  ask(question: string, options: { isHidden: boolean }): Promise<string> {
    return this.#writer.ask(question, options)
  }

  /** Shows a line below everything else, or removes it. */
  showBar(text: string): void {
    if (this.hasBar) this.#writer.showBar(text)
  }
}
