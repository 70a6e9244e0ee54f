/**
 * Finds any of many short texts in one pass over a longer text (Rabin and Karp, 1987). A rolling hash, as long as the shortest
 * needle, shows where a match is possible. Adding or removing a needle takes time in proportion to its length.
 */

/** The number of UTF-16 code units in a hash. */
const windowLength = 8
/** The length of the longest needle, which bounds the cost of a comparison. */
export const maxNeedleLength = 64
const base = 0x01000193
/** `base` to the power of `windowLength`: the factor of the character that leaves the hash. */
const oldest = Array.from({ length: windowLength }).reduce<number>(power => Math.imul(power, base), 1)
const filterBits = 17

interface Needle {
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

export class Needles {
  readonly #needles = new Map<string, Needle>()
  readonly #byHash = new Map<number, Needle[]>()
  /** The number of needles that share some bits of the hash. This filter rejects most windows. */
  readonly #filter = new Uint32Array(2 ** filterBits)

  get size(): number {
    return this.#needles.size
  }

  /** @param text of 8 to 64 characters */
  add(text: string): void {
    const known = this.#needles.get(text)
    if (known) {
      known.count++
      return
    }
    const needle = { text, ...this.#rarestWindow(text), count: 1 }
    this.#needles.set(text, needle)
    this.#byHash.set(needle.hash, [...(this.#byHash.get(needle.hash) ?? []), needle])
    this.#count(needle.hash, 1)
  }

  /** Reverts one `add`. */
  remove(text: string): void {
    const needle = this.#needles.get(text)
    if (!needle || --needle.count > 0) return
    this.#needles.delete(text)
    const others = (this.#byHash.get(needle.hash) ?? []).filter(other => other !== needle)
    if (others.length > 0) this.#byHash.set(needle.hash, others)
    else this.#byHash.delete(needle.hash)
    this.#count(needle.hash, -1)
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
      for (const needle of this.#byHash.get(hash) ?? []) {
        const start = end + 1 - windowLength - needle.offset
        if (start >= 0 && text.startsWith(needle.text, start)) join(spans, start, start + needle.text.length)
      }
    }
    return spans
  }

  /** Tokens of one vendor often have the same prefix, so the window is chosen where few other needles share its hash. */
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
