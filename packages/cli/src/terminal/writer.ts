/**
 * The terminal. `prompt.ts` asks questions, `bar.ts` makes the texts of progress, and all output leaves through the writer here.
 */
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { usageError } from '../errors.ts'

interface WriterOptions {
  /** Whether a terminal understands the escape sequences that draw a bar. */
  canDraw: boolean
  signal: AbortSignal
}

/**
 * Writes everything that the command line prints. No other file uses the standard output and the standard error. Each text passes
 * `printable`, because it can come from a server.
 */
export class Writer {
  readonly #canDraw: boolean
  readonly #signal: AbortSignal
  #bar = ''
  #draining: Promise<unknown> | undefined

  constructor({ canDraw, signal }: WriterOptions) {
    this.#canDraw = canDraw
    this.#signal = signal
  }

  /** Whether the standard error is a terminal that can show a bar. */
  get hasTerminal(): boolean {
    return process.stderr.isTTY && this.#canDraw
  }

  /** Writes lines to the standard output, not faster than its reader reads. */
  async lines(texts: readonly string[]): Promise<void> {
    await this.#write(texts.map(text => `${printable(text)}\n`).join(''))
  }

  /** Writes a part of a file to the standard output, unchanged and not faster than its reader reads. */
  async content(bytes: Uint8Array): Promise<void> {
    await this.#write(bytes)
  }

  /** Writes a line to the standard error. */
  message(text: string): void {
    this.#clearBar()
    process.stderr.write(`${printable(text)}\n`)
    this.#drawBar()
  }

  /** Shows a text below everything else, cut to one line of the terminal, or removes it. */
  showBar(text: string): void {
    this.#clearBar()
    const columns = process.stderr.columns || 80
    this.#bar = printable(text).slice(0, columns - 1)
    this.#drawBar()
  }

  /** Asks a question and resolves with the answer. @throws CommandError if the input ends, and the reason of the signal */
  async ask(question: string, { isHidden }: { isHidden: boolean }): Promise<string> {
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
    const output = isHidden ? nowhere : process.stderr
    // From here, the terminal shows only what this program writes.
    const reader = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
    // Ctrl-C arrives here and not as a signal.
    reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    const ended = once(reader, 'close').then(() => {
      throw usageError('The input ended without an answer.')
    })
    const shown = printable(question)
    try {
      if (isHidden) process.stderr.write(shown)
      return await Promise.race([reader.question(isHidden ? '' : shown, { signal: this.#signal }), ended])
    } catch (error) {
      this.#signal.throwIfAborted()
      throw error
    } finally {
      ended.catch(() => {})
      reader.close()
      if (isHidden) process.stderr.write('\n')
    }
  }

  async #write(content: string | Uint8Array): Promise<void> {
    this.#signal.throwIfAborted()
    this.#clearBar()
    const isFull = !process.stdout.write(content)
    this.#drawBar()
    if (isFull) await this.#drained()
  }

  /** Several files can wait for the reader at the same time. */
  async #drained(): Promise<void> {
    this.#draining ??= once(process.stdout, 'drain', { signal: this.#signal })
    try {
      await this.#draining
    } finally {
      this.#draining = undefined
    }
  }

  #clearBar(): void {
    if (this.#bar !== '') process.stderr.write('\r\x1b[K')
  }

  #drawBar(): void {
    if (this.#bar !== '') process.stderr.write(this.#bar)
  }
}

/** Calls the listener when the standard output cannot be written any more, for example because a pipe has closed. */
export function onWriteError(listener: (error: NodeJS.ErrnoException) => void): void {
  process.stdout.on('error', listener)
}

/** Control characters, surrogates without a partner, and characters that are invisible or change the direction of text. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
/** Invisible characters that stay, because some languages and emoji need them: ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER. */
const joiners: ReadonlySet<string> = new Set(['\u200c', '\u200d'])

/**
 * Writes the characters that are not printable as escapes, as in JSON. They could control a terminal or deceive its reader, and
 * names of files can contain any of them. JSON keeps its meaning.
 */
export function printable(text: string): string {
  return text.replace(unprintable, character => (joiners.has(character) ? character : escapeOf(character)))
}

function escapeOf(character: string): string {
  const units = character.split('')
  return units.map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}
