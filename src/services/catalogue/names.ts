/**
 * Makes names comparable, and lists the grams by which the catalogue finds them. All of it happens here and not in SQL: the search
 * needs no extension of PostgreSQL, finds the same with every locale of the database, and names and queries cannot differ.
 */
import { root, type StoragePath } from '../../auth/path.ts'

/** Comes before each character that begins a word. No folded text contains it otherwise. */
export const wordMark = '\u0001'

const asciiText = /^[\x20-\x7e]*$/
/** Accents, vowel points and other marks, and the Arabic letter that only stretches words, but not the marks of Japanese and Indic letters, which make other letters. */
const marks =
  /[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]|[\u1ab0-\u1ace]|[\u1dc0-\u1dff]|[\u20d0-\u20f0]|[\ufe20-\ufe2f]|[\ufe00-\ufe0f]|\u0640/g
/** Letters that are written with an accent, and that Unicode does not take apart. */
const letters: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ς: 'σ',
}
const letterPattern = /[øłđðħŧæœþς]/g
const controls = /\p{Cc}/gu

/** Folds case, accents, and the forms in which Unicode stores the same text. */
export function fold(text: string): string {
  if (asciiText.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(marks, '')
    .replace(controls, ' ')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replace(marks, '')
    .replace(letterPattern, letter => letters[letter] ?? letter)
    .normalize('NFC')
}

type CharacterClass = 'SPACE' | 'OTHER' | 'WORD' | 'UNSPACED'

const space = /^\s$/u
const wordCharacter = /^[\p{L}\p{N}\p{M}]$/u
/** The scripts that write words without spaces between them. */
const unspaced =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc]$/u

function classify(code: number): CharacterClass {
  const character = String.fromCodePoint(code)
  if (space.test(character)) return 'SPACE'
  if (unspaced.test(character)) return 'UNSPACED'
  return wordCharacter.test(character) ? 'WORD' : 'OTHER'
}

const asciiClasses = Array.from({ length: 0x80 }, (_, code) => classify(code))
/** The classes of other code points that were seen. It is emptied before it grows beyond a bound. */
const classes = new Map<number, CharacterClass>()
const maxClasses = 20_000

export function classOf(code: number): CharacterClass {
  const known = asciiClasses[code] ?? classes.get(code)
  if (known) return known
  if (classes.size >= maxClasses) classes.clear()
  const found = classify(code)
  classes.set(code, found)
  return found
}

function codesOf(text: string): number[] {
  const codes: number[] = []
  for (const character of text) codes.push(character.codePointAt(0) ?? 0)
  return codes
}

/** Returns whether a character begins a word, which depends on the one before it alone. @param before SPACE at the beginning */
function beginsWord(before: CharacterClass, own: CharacterClass): boolean {
  return own !== 'SPACE' && (before === 'SPACE' || before === 'OTHER' || own !== before)
}

/** Puts a mark before each character that begins a word. @param text a folded text */
export function markWords(text: string): string {
  let marked = ''
  let before: CharacterClass = 'SPACE'
  for (const character of text) {
    const own = classOf(character.codePointAt(0) ?? 0)
    marked += beginsWord(before, own) ? wordMark + character : character
    before = own
  }
  return marked
}

/** The text that a gram consists of. Grams of different kinds differ, even with the same characters. */
const gramKinds = { part: 1, wordStart: 2, unspaced: 3, nameStart: 4, name: 5, folder: 6, catalogue: 7 } as const

/** FNV-1a with 32 bits. */
const prime = 0x01000193

function begin(kind: number): number {
  return Math.imul(0x811c9dc5 ^ kind, prime)
}

function add(hash: number, code: number): number {
  return Math.imul(hash ^ code, prime)
}

/**
 * Spreads the hash over all bits, and returns 16 of them as PostgreSQL's `smallint`. With 32, an entry takes over 100 bytes more, many of them
 * for the grams that no other entry has. Different grams may have the same hash, so a search compares names and paths, too.
 */
function end(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return ((mixed ^ (mixed >>> 13)) << 16) >> 16
}

function gram(kind: number, codes: readonly number[]): number {
  return end(codes.reduce(add, begin(kind)))
}

/** The characters of the longest beginning of a name that is a gram. */
const maxStart = 3

/** Returns the grams of a folded name. */
export function gramsOfName(name: string): number[] {
  const codes = codesOf(name)
  const found = new Set<number>([gram(gramKinds.name, codes)])
  let start = begin(gramKinds.nameStart)
  for (const code of codes.slice(0, maxStart)) {
    start = add(start, code)
    found.add(end(start))
  }
  const [part, wordStart] = [begin(gramKinds.part), begin(gramKinds.wordStart)]
  let before: CharacterClass = 'SPACE'
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0
    const next = codes[index + 1]
    const afterNext = codes[index + 2]
    if (next !== undefined && afterNext !== undefined) found.add(end(add(add(add(part, code), next), afterNext)))
    const own = classOf(code)
    if (beginsWord(before, own)) {
      const one = add(wordStart, code)
      found.add(end(one))
      if (next !== undefined) found.add(end(add(one, next)))
    }
    before = own
    if (own !== 'UNSPACED') continue
    const one = add(begin(gramKinds.unspaced), code)
    found.add(end(one))
    if (next !== undefined && classOf(next) === 'UNSPACED') found.add(end(add(one, next)))
  }
  return [...found]
}

const slash = 0x2f

/** Returns the grams of the folders that an entry is at or below: of the whole catalogue first, and of the entry itself last. */
export function gramsOfPath(catalogue: number, path: StoragePath): number[] {
  const found = [gram(gramKinds.catalogue, [catalogue])]
  if (path === root) return found
  let hash = begin(gramKinds.folder)
  for (let index = 0; index < path.length; index++) {
    const code = path.charCodeAt(index)
    if (code === slash) found.push(end(hash))
    hash = add(hash, code)
  }
  found.push(end(hash))
  return found
}

/** Returns the gram that everything at and below a path of a catalogue has. */
export function gramOfFolder(catalogue: number, path: StoragePath): number {
  return gramsOfPath(catalogue, path).at(-1) ?? 0
}

/** A text that names contain. */
export interface Term {
  /** The text as the marked names contain it. */
  needle: string
  /** The same where it begins a word. */
  startNeedle: string
  grams: readonly number[]
}

export interface NameQuery {
  terms: readonly [Term, ...Term[]]
  /** The whole text, as a marked name that equals it. */
  fullName: string
  wholeGram: number
  /** The gram of the names that begin with the first term. */
  startGram: number
}

/** More grams of a term than this would select nothing more. */
const maxGrams = 12
const maxShort = 2
const parts = /"([^"]*)"?|[^\s"]+/g

/** Returns the words and phrases of the text of a search, folded. */
export function partsOf(text: string): string[] {
  return Array.from(text.matchAll(parts), ([part, phrase]) => fold(phrase ?? part).trim()).filter(part => part !== '')
}

/**
 * Parses the text of a search: words, and phrases in quotes. All of them must be in the name. A word of one or two characters is
 * the beginning of a word, except in a script without spaces.
 * @returns null if the text names nothing
 */
export function parseQuery(text: string): NameQuery | null {
  const found = partsOf(text)
  const [first, ...others] = found
  if (first === undefined) return null
  const name = found.join(' ')
  return {
    terms: [termOf(first), ...others.map(termOf)],
    fullName: markWords(name),
    wholeGram: gram(gramKinds.name, codesOf(name)),
    startGram: gram(gramKinds.nameStart, codesOf(first).slice(0, maxStart)),
  }
}

function termOf(text: string): Term {
  const codes = codesOf(text)
  const marked = markWords(text)
  const needle = marked.startsWith(wordMark) ? marked.slice(wordMark.length) : marked
  const startNeedle = wordMark + needle
  if (codes.length > maxShort) {
    const starts = codes.slice(maxShort).keys()
    const step = Math.ceil((codes.length - maxShort) / maxGrams)
    const grams = [...starts]
      .filter(start => start % step === 0)
      .map(start => gram(gramKinds.part, codes.slice(start, start + 3)))
    return { needle, startNeedle, grams }
  }
  const isUnspaced = codes.every(code => classOf(code) === 'UNSPACED')
  if (isUnspaced) return { needle, startNeedle, grams: [gram(gramKinds.unspaced, codes)] }
  return { needle: startNeedle, startNeedle, grams: [gram(gramKinds.wordStart, codes)] }
}
