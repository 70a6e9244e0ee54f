import { randomUUID } from 'node:crypto'
import type { AppError } from '../../../errors.ts'
import { write } from '../send-file.ts'
import type { ZipWriter } from '../zip/writer.ts'

/** The maximum number of names to list; further ones are only counted. */
const maxNames = 1000
const title = '_left-out'
/** The names that the list can have. There are few, so an archive of any size takes no more memory. */
const titles = [`${title}.txt`, ...Array.from({ length: 9 }, (_, index) => `${title} (${index + 1}).txt`)]

/** Lists the files that an archive lacks in a text file at its end, so that nobody takes the archive for complete. */
export class Omissions {
  readonly #prefix: string
  readonly #lines: string[] = []
  readonly #changed: string[] = []
  readonly #free = new Set(titles)
  #count = 0
  #changedCount = 0

  /** @param prefix the folder of the list with a slash at its end; empty for the top of the archive */
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Records a name in the archive, so that the list gets another one. */
  note(name: string): void {
    this.#free.delete(name.slice(this.#prefix.length))
  }

  add(name: string, { message }: AppError): void {
    this.#count++
    if (this.#lines.length < maxNames) this.#lines.push(`${name}: ${message}`)
  }

  /** Adds a file that is in the archive but changed while it was read, so it can mix two versions. */
  addChanged(name: string): void {
    this.#changedCount++
    if (this.#changed.length < maxNames) this.#changed.push(name)
  }

  /** Writes nothing if the archive is complete. */
  async write(zip: ZipWriter, signal: AbortSignal): Promise<void> {
    const lines = [
      ...section('Not in this archive:', this.#lines, this.#count),
      ...section('Changed while they were read, so they can mix two versions:', this.#changed, this.#changedCount),
    ]
    if (lines.length === 0) return
    const text = Buffer.from(lines.join('\n'))
    const file = { name: this.#name(), modifiedAt: new Date(), size: text.length, method: 'stored' } as const
    await zip.file(file, (sink, signal) => write(sink, text, signal), signal)
  }

  #name(): string {
    const [first = `${title} (${randomUUID()}).txt`] = this.#free
    return this.#prefix + first
  }
}

function section(title: string, lines: readonly string[], count: number): string[] {
  if (count === 0) return []
  const more = count - lines.length
  return [title, '', ...lines, ...(more > 0 ? [`and ${more} more`] : []), '']
}
