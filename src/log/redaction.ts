/**
 * What no line of the log may contain, by value: however a library, a back end that repeats what it was sent, or an
 * adapter from elsewhere gets it into an error.
 */
import { maxNeedleLength, Needles } from './needles.ts'
import { formsOf, minLength, partsOf } from './secret-forms.ts'

/** Needles of secrets that nobody holds any more: about a thousand secrets. The oldest go first. */
const maxReleased = 20_000

interface Known {
  /** How many hold it; 0 for one that was released. */
  holders: number
  needles: readonly string[]
}

export class Redaction {
  readonly #needles = new Needles()
  /** By the part of a secret. */
  readonly #held = new Map<string, Known>()
  /** In the order of their release: late lines, of an error that ends a request, can still contain them. */
  readonly #released = new Map<string, Known>()
  #releasedNeedles = 0

  /**
   * Redacts these until the result is disposed of, and for a while after. Hold a secret for as long as anything uses it.
   * Values that are not strings, and short ones, are ignored.
   */
  hold(...secrets: readonly unknown[]): Disposable {
    const parts = secrets.flatMap(secret => (typeof secret === 'string' ? partsOf(secret) : []))
    for (const part of parts) this.#take(part)
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) for (const part of parts) this.#release(part)
        isHeld = false
      },
    }
  }

  /** How many texts are searched for: a bound of the memory that this takes. */
  get size(): number {
    return this.#needles.size
  }

  /** The text with `[redacted]` in place of the secrets; takes time in proportion to its length. */
  redact = (text: string): string => {
    const spans = this.#needles.find(text)
    if (spans.length === 0) return text
    const kept = spans.map(({ start }, index) => text.slice(spans[index - 1]?.end ?? 0, start))
    return `${kept.join('[redacted]')}[redacted]${text.slice(spans.at(-1)?.end)}`
  }

  #take(part: string): void {
    const known = this.#held.get(part) ?? this.#reclaim(part) ?? this.#add(part)
    known.holders++
    this.#held.set(part, known)
  }

  #add(part: string): Known {
    const needles = [...new Set(formsOf(part).flatMap(needlesOf))]
    for (const needle of needles) this.#needles.add(needle)
    return { holders: 0, needles }
  }

  #reclaim(part: string): Known | undefined {
    const known = this.#released.get(part)
    if (known) this.#releasedNeedles -= known.needles.length
    this.#released.delete(part)
    return known
  }

  #release(part: string): void {
    const known = this.#held.get(part)
    if (!known || --known.holders > 0) return
    this.#held.delete(part)
    this.#released.set(part, known)
    this.#releasedNeedles += known.needles.length
    for (const [oldest] of this.#released) {
      if (this.#releasedNeedles <= maxReleased) return
      for (const needle of this.#reclaim(oldest)?.needles ?? []) this.#needles.remove(needle)
    }
  }
}

/** A long text in pieces, so that each comparison is short; the last one overlaps the one before. */
function needlesOf(form: string): string[] {
  const needles: string[] = []
  for (let start = 0; start < form.length; start += maxNeedleLength) {
    const begin = Math.max(0, Math.min(start, form.length - maxNeedleLength))
    needles.push(form.slice(begin, begin + maxNeedleLength))
  }
  return needles.filter(needle => needle.length >= minLength)
}
