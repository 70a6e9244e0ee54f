/**
 * Removes secrets from log lines by value. A library, an adapter, or a back end that echoes a request can put a secret into any
 * error.
 */
import { maxNeedleLength, Needles } from './needles.ts'

/**
 * The minimum length of a secret to redact, in UTF-16 code units. Shorter texts also occur by chance in harmless lines.
 */
const minLength = 8
/**
 * The minimum length of one line of a secret, in UTF-16 code units. Each line of a private key, for example, reveals a
 * part of it.
 */
const minLineLength = 24

/** Returns the whole secret and, if it has several lines or words, each of the longer ones. */
function partsOf(secret: string): string[] {
  const whole = secret.trim()
  if (whole.length < minLength) return []
  const lines = whole.split(/\\n|\s+/)
  return [whole, ...(lines.length > 1 ? lines.filter(line => line.length >= minLineLength) : [])]
}

/**
 * Returns the text plain, in JSON, in JSON within JSON, percent-encoded, in hex, and in base64, alone and inside a
 * longer text.
 */
function formsOf(text: string): string[] {
  const bytes = Buffer.from(text)
  const inJson = JSON.stringify(text).slice(1, -1)
  const base64 = [0, 1, 2].map(before => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
    // Leaves out characters that also encode neighboring bytes.
    return whole.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((whole.length * 4) / 3))
  })
  const hex = bytes.toString('hex')
  const forms = [
    text,
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
    new URLSearchParams({ '': text }).toString().slice(1),
    ...base64,
    ...base64.map(each => each.replaceAll('+', '-').replaceAll('/', '_')),
    ...base64.map(encodeURIComponent),
    hex,
    hex.toUpperCase(),
  ]
  return [...new Set(forms)]
}

/** The maximum number of needles of released secrets, which is about a thousand secrets. The oldest are dropped first. */
const maxReleased = 20_000

interface KnownPart {
  /** The number of current holds; 0 after the release. */
  holders: number
  needles: readonly string[]
}

export class Redaction {
  readonly #needles = new Needles()
  /** The parts of secrets in use. */
  readonly #inUse = new Map<string, KnownPart>()
  /** Released parts, the oldest first. Late log lines, about an error that ended a request, can still contain them. */
  readonly #released = new Map<string, KnownPart>()
  #releasedNeedles = 0

  /**
   * Redacts these secrets until the result is disposed of, and for a while after. Hold a secret while anything uses it. Ignores
   * values that are not strings or are too short.
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

  /** The number of texts to search for, which bounds the memory use. */
  get size(): number {
    return this.#needles.size
  }

  /** Replaces each secret with `[redacted]`, in time proportional to the length of the text. */
  redact = (text: string): string => {
    const spans = this.#needles.find(text)
    if (spans.length === 0) return text
    const kept = spans.map(({ start }, index) => text.slice(spans[index - 1]?.end ?? 0, start))
    return `${kept.join('[redacted]')}[redacted]${text.slice(spans.at(-1)?.end)}`
  }

  #take(part: string): void {
    const known = this.#inUse.get(part) ?? this.#reclaim(part) ?? this.#add(part)
    known.holders++
    this.#inUse.set(part, known)
  }

  #add(part: string): KnownPart {
    const needles = [...new Set(formsOf(part).flatMap(needlesOf))]
    for (const needle of needles) this.#needles.add(needle)
    return { holders: 0, needles }
  }

  #reclaim(part: string): KnownPart | undefined {
    const known = this.#released.get(part)
    if (known) this.#releasedNeedles -= known.needles.length
    this.#released.delete(part)
    return known
  }

  #release(part: string): void {
    const known = this.#inUse.get(part)
    if (!known || --known.holders > 0) return
    this.#inUse.delete(part)
    this.#released.set(part, known)
    this.#releasedNeedles += known.needles.length
    for (const [oldest] of this.#released) {
      if (this.#releasedNeedles <= maxReleased) return
      for (const needle of this.#reclaim(oldest)?.needles ?? []) this.#needles.remove(needle)
    }
  }
}

/** Splits a long text into needles, so that each comparison is short. The last two may overlap. */
function needlesOf(form: string): string[] {
  const needles: string[] = []
  for (let start = 0; start < form.length; start += maxNeedleLength) {
    const begin = Math.max(0, Math.min(start, form.length - maxNeedleLength))
    needles.push(form.slice(begin, begin + maxNeedleLength))
  }
  return needles.filter(needle => needle.length >= minLength)
}
