/**
 * Divides texts into words, for the index of PostgreSQL and for searches in it. As for names, it happens here and not in SQL, so both
 * cannot differ. A word of a script without spaces is two characters, and every pair of neighbors is one.
 */
import { classOf, fold, partsOf } from '../names.ts'

/** Characters. The rest of a longer word is not searched. */
const maxWord = 64
const runs = /[\p{L}\p{N}\p{M}\u30fc]+/gu
const ascii = /^[A-Za-z0-9]+$/
const lowSurrogateMissing = /[\ud800-\udbff]$/

/** A part of a text: a word, or characters of a script without spaces. */
export interface Segment {
  text: string
  isUnspaced: boolean
  /** The position in the text. */
  start: number
}

/** Divides a text into its segments. */
export function* segmentsOf(text: string): Generator<Segment, void, undefined> {
  for (const match of text.matchAll(runs)) {
    const [run] = match
    if (ascii.test(run)) yield { text: run, isUnspaced: false, start: match.index }
    else yield* divide(run, match.index)
  }
}

function* divide(run: string, start: number): Generator<Segment, void, undefined> {
  let from = 0
  let isUnspaced: boolean | null = null
  let at = 0
  for (const character of run) {
    const own = classOf(character.codePointAt(0) ?? 0) === 'UNSPACED'
    if (isUnspaced !== null && own !== isUnspaced) {
      yield { text: run.slice(from, at), isUnspaced, start: start + from }
      from = at
    }
    isUnspaced = own
    at += character.length
  }
  yield { text: run.slice(from), isUnspaced: isUnspaced ?? false, start: start + from }
}

function cut(word: string): string {
  return word.length <= maxWord ? word : word.slice(0, maxWord).replace(lowSurrogateMissing, '')
}

/** Returns the pairs of characters of a segment without spaces, and its last character, so that every character begins a word. */
function pairsOf(text: string): string[] {
  const characters = Array.from(text)
  return characters.map((character, index) => character + (characters[index + 1] ?? ''))
}

/** Yields the words of a text in their order. */
export function* wordsOf(text: string): Generator<string, void, undefined> {
  for (const segment of segmentsOf(fold(text))) {
    if (segment.isUnspaced) yield* pairsOf(segment.text)
    else yield cut(segment.text)
  }
}

/** PostgreSQL keeps no later positions, and no more of one word. */
const maxPosition = 16_383
const maxPositions = 200
/** Bytes, of less than a megabyte that PostgreSQL allows. */
const maxBytes = 900_000
/** Bytes of a word besides its characters, with padding, and of a position. */
const wordBytes = 4
const positionBytes = 2

/** Returns words as a literal of the type tsvector, as many as it can have. Later words have no positions, so only phrases miss them. */
export function vectorOf(words: Iterable<string>): string {
  const positions = new Map<string, number[]>()
  let bytes = 0
  let position = 0
  for (const word of words) {
    position += 1
    let known = positions.get(word)
    if (!known) {
      bytes += Buffer.byteLength(word) + wordBytes
      if (bytes > maxBytes) break
      known = []
      positions.set(word, known)
    }
    if (position > maxPosition || known.length >= maxPositions) continue
    bytes += positionBytes
    known.push(position)
  }
  return Array.from(positions, ([word, list]) => `'${word}'${list.length === 0 ? '' : `:${list.join(',')}`}`).join(' ')
}

/** Segments that follow one another in a text. */
export type Phrase = readonly [Segment, ...Segment[]]

export interface ContentQuery {
  /** A literal of the type tsquery. */
  query: string
  phrases: readonly Phrase[]
}

/** Characters from which on a word is the beginning of a word. */
const minPrefix = 3

/**
 * Parses the text of a search: words, and phrases in quotes. The content has to contain all of them. A word of three or more
 * characters is the beginning of a word.
 * @returns null if the text has no word
 */
export function parseContentQuery(text: string): ContentQuery | null {
  const phrases = partsOf(text).flatMap(part => {
    const [first, ...others] = segmentsOf(part)
    return first ? [[first, ...others] satisfies Phrase] : []
  })
  return phrases.length === 0 ? null : { query: phrases.map(queryOf).join(' & '), phrases }
}

function queryOf(phrase: Phrase): string {
  const last = phrase.length - 1
  const words = phrase.flatMap((segment, index) => {
    if (index < last) return (segment.isUnspaced ? pairsOf(segment.text) : [cut(segment.text)]).map(exactly)
    if (!segment.isUnspaced) return hasPrefix(segment.text) ? startingWith(cut(segment.text)) : exactly(segment.text)
    const [...pairs] = pairsOf(segment.text)
    return pairs.length === 1 ? pairs.map(startingWith) : pairs.slice(0, -1).map(exactly)
  })
  // One run of characters is found behind the last position, too.
  return `(${words.join(last === 0 ? ' & ' : ' <-> ')})`
}

/** Returns whether a word of a search is also found as the beginning of a word. */
export function hasPrefix(word: string): boolean {
  return word.length >= minPrefix
}

function exactly(word: string): string {
  return `'${word}'`
}

function startingWith(word: string): string {
  return `'${word}':*`
}
