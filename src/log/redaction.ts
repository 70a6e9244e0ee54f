/**
 * Removes secrets from log lines by value. A library, an adapter, or a back end that echoes a request can put a secret into any
 * error.
 */
import { LruMap } from '../lib/lru-map.ts'

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
  const text = secret.trim()
  if (text.length < minLength) return []
  const lines = text.split(/\\n|\s+/)
  return [text, ...(lines.length > 1 ? lines.filter(line => line.length >= minLineLength) : [])]
}

/**
 * Returns the text plain, in JSON, in JSON within JSON, percent-encoded, in hex, and in base64, alone and inside a
 * longer text.
 */
function formsOf(text: string): string[] {
  const bytes = Buffer.from(text)
  const inJson = JSON.stringify(text).slice(1, -1)
  const base64 = [0, 1, 2].map(before => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes])
    // Leaves out characters that also encode neighboring bytes.
    return shifted.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((shifted.length * 4) / 3))
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

/** The maximum number of terms of released secrets, which is about a thousand secrets. The oldest are dropped first. */
const maxReleased = 20_000

interface KnownPart {
  /** The number of current holds; 0 after the release. */
  holders: number
  terms: readonly string[]
}

export class Redaction {
  readonly #terms = new SearchTerms()
  /** The parts of secrets in use. */
  readonly #inUse = new Map<string, KnownPart>()
  /** Released parts, the oldest first. Late log lines, about an error that ended a request, can still contain them. */
  readonly #released = new LruMap<string, KnownPart>(maxReleased, {
    sizeOf: ({ terms }) => terms.length,
    onForget: (_part, { terms }) => {
      for (const term of terms) this.#terms.remove(term)
    },
  })

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
    return this.#terms.size
  }

  /** Replaces each secret with `[redacted]`, in time proportional to the length of the text. */
  redact = (text: string): string => {
    const spans = this.#terms.find(text)
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
    const terms = [...new Set(formsOf(part).flatMap(termsOf))]
    for (const term of terms) this.#terms.add(term)
    return { holders: 0, terms }
  }

  #reclaim(part: string): KnownPart | undefined {
    const known = this.#released.peek(part)
    this.#released.delete(part)
    return known
  }

  #release(part: string): void {
    const known = this.#inUse.get(part)
    if (!known || --known.holders > 0) return
    this.#inUse.delete(part)
    this.#released.set(part, known)
  }
}

/** Splits a long text into terms, so that each comparison is short. The last two may overlap. */
function termsOf(form: string): string[] {
  const terms: string[] = []
  for (let start = 0; start < form.length; start += maxTermLength) {
    const begin = Math.max(0, Math.min(start, form.length - maxTermLength))
    terms.push(form.slice(begin, begin + maxTermLength))
  }
  return terms.filter(term => term.length >= minLength)
}

/**
 * Finds any of many short texts in one pass over a longer text (Rabin and Karp, 1987). A rolling hash, as long as the shortest
 * term, shows where a match is possible. Adding or removing a term takes time in proportion to its length.
 */

/** The number of UTF-16 code units in a hash. */
const windowLength = 8
/** The length of the longest term, which bounds the cost of a comparison. */
const maxTermLength = 64
const base = 0x01000193
/** `base` to the power of `windowLength`: the factor of the character that leaves the hash. */
const oldest = Array.from({ length: windowLength }).reduce<number>(power => Math.imul(power, base), 1)
const filterBits = 17

interface SecretTerm {
  text: string
  /** The index in the text at which the hashed window begins. */
  offset: number
  hash: number
  /** The number of times that the text was added. */
  count: number
}

/** The characters from `start` up to `end`. */
export interface Match {
  start: number
  end: number
}

class SearchTerms {
  readonly #terms = new Map<string, SecretTerm>()
  readonly #byHash = new Map<number, SecretTerm[]>()
  /** The number of terms that share some bits of the hash. This filter rejects most windows. */
  readonly #filter = new Uint32Array(2 ** filterBits)

  get size(): number {
    return this.#terms.size
  }

  /** @param text of 8 to 64 characters */
  add(text: string): void {
    const known = this.#terms.get(text)
    if (known) {
      known.count++
      return
    }
    const term = { text, ...this.#rarestWindow(text), count: 1 }
    this.#terms.set(text, term)
    this.#byHash.set(term.hash, [...(this.#byHash.get(term.hash) ?? []), term])
    this.#count(term.hash, 1)
  }

  /** Reverts one `add`. */
  remove(text: string): void {
    const term = this.#terms.get(text)
    if (!term || --term.count > 0) return
    this.#terms.delete(text)
    const others = (this.#byHash.get(term.hash) ?? []).filter(other => other !== term)
    if (others.length > 0) this.#byHash.set(term.hash, others)
    else this.#byHash.delete(term.hash)
    this.#count(term.hash, -1)
  }

  /** Returns the matches in order, and merges those that touch or overlap. */
  find(text: string): Match[] {
    const spans: Match[] = []
    if (this.size === 0) return spans
    let hash = 0
    for (let end = 0; end < text.length; end++) {
      hash = Math.imul(hash, base) + text.charCodeAt(end)
      if (end >= windowLength) hash -= Math.imul(oldest, text.charCodeAt(end - windowLength))
      hash |= 0
      if (end < windowLength - 1 || this.#filter[slotOf(hash)] === 0) continue
      for (const term of this.#byHash.get(hash) ?? []) {
        const start = end + 1 - windowLength - term.offset
        if (start >= 0 && text.startsWith(term.text, start)) join(spans, start, start + term.text.length)
      }
    }
    return spans
  }

  /** Tokens of one vendor often have the same prefix, so the window is chosen where few other terms share its hash. */
  #rarestWindow(text: string): { offset: number; hash: number } {
    let rarest = { offset: 0, hash: hashOf(text, 0), sharing: Number.POSITIVE_INFINITY }
    for (let offset = 0; offset + windowLength <= text.length && rarest.sharing > 0; offset++) {
      const hash = hashOf(text, offset)
      const sharing = this.#byHash.get(hash)?.length ?? 0
      if (sharing < rarest.sharing) rarest = { offset, hash, sharing }
    }
    return { offset: rarest.offset, hash: rarest.hash }
  }

  #count(hash: number, change: 1 | -1): void {
    const slot = slotOf(hash)
    this.#filter[slot] = (this.#filter[slot] ?? 0) + change
  }
}

function hashOf(text: string, start: number): number {
  let hash = 0
  for (let at = start; at < start + windowLength; at++) hash = (Math.imul(hash, base) + text.charCodeAt(at)) | 0
  return hash
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> filterBits)) & (2 ** filterBits - 1)
}

/** Adds a match. It can begin before earlier ones, because matches are found in the order of their windows. */
function join(spans: Match[], start: number, end: number): void {
  let joined = { start, end }
  for (let last = spans.at(-1); last && last.end >= joined.start; last = spans.at(-1)) {
    joined = { start: Math.min(last.start, joined.start), end: Math.max(last.end, joined.end) }
    spans.pop()
  }
  spans.push(joined)
}
