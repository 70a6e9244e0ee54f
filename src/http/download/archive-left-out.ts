import type { AppError } from '../../errors.ts'
import { write } from './send-file.ts'
import type { ZipWriter } from './zip/writer.ts'

/** Names held; of more there is only the number. */
const maxNames = 1000
const title = '_left-out'
const titlePattern = /^_left-out(?: \(\d+\))?\.txt$/

/** What an archive lacks, told in a file of its own at its end: whoever opens it must not take it for all there was. */
export class LeftOut {
  readonly #top: string
  readonly #lines: string[] = []
  readonly #changed: string[] = []
  readonly #taken = new Set<string>()
  #count = 0
  #changedCount = 0

  /** @param top the folder in the archive that all lies in */
  constructor(top: string) {
    this.#top = top
  }

  /** A name that the archive has. */
  note(name: string): void {
    if (titlePattern.test(name.slice(this.#top.length + 1))) this.#taken.add(name)
  }

  add(name: string, { message }: AppError): void {
    this.#count++
    if (this.#lines.length < maxNames) this.#lines.push(`${name}: ${message}`)
  }

  /** One that the archive has, though perhaps of two versions. */
  addChanged(name: string): void {
    this.#changedCount++
    if (this.#changed.length < maxNames) this.#changed.push(name)
  }

  /** Nothing where nothing is lacking. */
  async write(zip: ZipWriter, signal: AbortSignal): Promise<void> {
    const lines = [
      ...section('Not in this archive:', this.#lines, this.#count),
      ...section('Written to while they were read, so perhaps of two versions:', this.#changed, this.#changedCount),
    ]
    if (lines.length === 0) return
    const text = Buffer.from(lines.join('\n'))
    const file = { name: this.#freeName(), modifiedAt: new Date(), size: text.length, method: 'stored' } as const
    await zip.file(file, (sink, signal) => write(sink, text, signal), signal)
  }

  #freeName(): string {
    for (let number = 0; ; number++) {
      const name = `${this.#top}/${title}${number === 0 ? '' : ` (${number})`}.txt`
      if (!this.#taken.has(name)) return name
    }
  }
}

function section(title: string, lines: readonly string[], count: number): string[] {
  if (count === 0) return []
  const more = count - lines.length
  return [title, '', ...lines, ...(more > 0 ? [`and ${more} more`] : []), '']
}
