/**
 * New names for several entries of one folder. The present names and a rule enter. What each entry would be called, and an order of
 * renames in which no name is taken when its turn comes, leave.
 */
import type { Entry } from '../operations.ts'

export type Rule =
  | { kind: 'replace'; find: string; replacement: string; ignoresCase: boolean }
  | { kind: 'number'; pattern: string; start: number }
  | { kind: 'add'; before: string; after: string }

export interface PlannedName {
  entry: Entry
  name: string
  /** Why the entry cannot have this name; null if nothing is known against it. The server checks names completely. */
  problem: 'clash' | 'invalid' | null
}

/** Bytes, as in the server. */
const maxNameBytes = 255
/** Separators and control characters, also as codes. */
const forbidden = /[/\\\p{Cc}]|%(?:25)*(?:2f|5c|00)/iu

function isInvalid(name: string): boolean {
  if (name === '' || name.trim() !== name || name === '.' || name === '..') return true
  return forbidden.test(name) || new TextEncoder().encode(name).length > maxNameBytes
}

/** Splits the name of a file before its ending. `.tar.gz` is one ending, and a name such as `.profile` has none. */
function splitName({ __typename, name }: Entry): [stem: string, ending: string] {
  if (__typename === 'Folder') return [name, '']
  let dot = name.lastIndexOf('.')
  if (dot <= 0) return [name, '']
  if (name.slice(0, dot).toLowerCase().endsWith('.tar') && dot > 4) dot -= 4
  return [name.slice(0, dot), name.slice(dot)]
}

function replaceAnyCase(name: string, find: string, replacement: string): string {
  const wanted = find.toLowerCase()
  let made = ''
  for (let at = 0; at < name.length; ) {
    const isFound = name.slice(at, at + find.length).toLowerCase() === wanted
    made += isFound ? replacement : name.charAt(at)
    at += isFound ? find.length : 1
  }
  return made
}

/** Returns a function that names each entry by its position. */
function namesBy(rule: Rule, count: number): (entry: Entry, index: number) => string {
  if (rule.kind === 'replace') {
    const { find, replacement, ignoresCase } = rule
    if (find === '') return ({ name }) => name
    if (!ignoresCase) return ({ name }) => name.replaceAll(find, () => replacement)
    return ({ name }) => replaceAnyCase(name, find, replacement)
  }
  return (entry, index) => {
    const [stem, ending] = splitName(entry)
    if (rule.kind === 'add') return rule.before + stem + rule.after + ending
    // All numbers have the same digits, so that other programs sort them, too.
    const digits = String(rule.start + count - 1).length
    const number = String(rule.start + index).padStart(digits, '0')
    const made = rule.pattern.replace(/\{(n|name)\}/g, (_, value) => (value === 'n' ? number : stem))
    return made + ending
  }
}

const comparable = (name: string) => name.normalize('NFC')

/**
 * Returns the new names, in the order of the entries. Two entries that would have the same name clash, and so does one whose name
 * another entry of the folder keeps.
 */
export function planNames(entries: readonly Entry[], all: readonly Entry[], rule: Rule): PlannedName[] {
  const nameOf = namesBy(rule, entries.length)
  const names = entries.map(nameOf)
  const chosen = new Set(entries.map(({ __typename, name }) => `${__typename}/${name}`))
  const uses = new Map<string, number>()
  const use = (name: string) => uses.set(comparable(name), (uses.get(comparable(name)) ?? 0) + 1)
  for (const name of names) use(name)
  for (const { __typename, name } of all) if (!chosen.has(`${__typename}/${name}`)) use(name)
  return entries.map((entry, index) => {
    const name = names[index] ?? entry.name
    if (name === entry.name) return { entry, name, problem: null }
    if (isInvalid(name)) return { entry, name, problem: 'invalid' }
    return { entry, name, problem: (uses.get(comparable(name)) ?? 0) > 1 ? 'clash' : null }
  })
}

export interface Renaming {
  entry: Entry
  name: string
}

/**
 * Returns chains of renames. Within a chain, each one takes the name that the one before has left. Chains do not depend on each
 * other. If the last one needs the name of the first one, the chain is a circle.
 */
export function chainsOf(renamings: readonly Renaming[]): { steps: Renaming[]; isCircle: boolean }[] {
  const byName = new Map(renamings.map(renaming => [renaming.entry.name, renaming]))
  const isWanted = new Set(renamings.map(({ name }) => name))
  const isTaken = new Set<Renaming>()
  const chains: { steps: Renaming[]; isCircle: boolean }[] = []
  const follow = (first: Renaming, isCircle: boolean) => {
    const steps: Renaming[] = []
    for (let at: Renaming | undefined = first; at && !isTaken.has(at); at = byName.get(at.name)) {
      isTaken.add(at)
      steps.push(at)
    }
    chains.push({ steps: steps.reverse(), isCircle })
  }
  // A chain begins with an entry whose name nobody wants. What remains are circles.
  for (const renaming of renamings) if (!isWanted.has(renaming.entry.name)) follow(renaming, false)
  for (const renaming of renamings) if (!isTaken.has(renaming)) follow(renaming, true)
  return chains
}
