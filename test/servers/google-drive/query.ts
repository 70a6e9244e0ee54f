/** The search grammar of files.list (developers.google.com/workspace/drive/api/guides/ref-search-terms). */
import { invalidValue } from './errors.ts'

export type Query =
  | { kind: 'and' | 'or'; left: Query; right: Query }
  | { kind: 'not'; of: Query }
  | { kind: 'in'; value: string; field: string }
  | { kind: 'compare'; field: string; operator: string; value: string | boolean }

const tokens = /\s*(?:'((?:[^'\\]|\\['\\])*)'|(!=|<=|>=|=|<|>|\(|\))|([A-Za-z]+))/y

const operators: Record<string, readonly string[]> = {
  name: ['=', '!=', 'contains'],
  mimeType: ['=', '!=', 'contains'],
  trashed: ['=', '!='],
  starred: ['=', '!='],
  modifiedTime: ['=', '!=', '<', '<=', '>', '>='],
  createdTime: ['=', '!=', '<', '<=', '>', '>='],
}

interface Token {
  type: 'text' | 'symbol' | 'word'
  text: string
}

/** @throws 400 invalid, location `q` */
export function parseQuery(source: string): Query {
  const rest = tokenize(source)
  const peek = () => rest[0]?.text.toLowerCase()
  const take = (): Token => {
    const token = rest.shift()
    if (!token) throw invalidValue('q')
    return token
  }
  const isWord = (word: string) => rest[0]?.type === 'word' && peek() === word

  // Both conjunctions have the same precedence and are left-associative. Parentheses change the order.
  function parseChain(): Query {
    let left = parseTerm()
    while (isWord('and') || isWord('or')) {
      const kind = take().text.toLowerCase() === 'and' ? 'and' : 'or'
      left = { kind, left, right: parseTerm() }
    }
    return left
  }

  function parseTerm(): Query {
    if (isWord('not')) {
      take()
      return { kind: 'not', of: parseTerm() }
    }
    const token = take()
    if (token.type === 'symbol' && token.text === '(') {
      const inner = parseChain()
      if (take().text !== ')') throw invalidValue('q')
      return inner
    }
    if (token.type === 'text') {
      const [word, field] = [take(), take()]
      if (word.text !== 'in' || field.text !== 'parents') throw invalidValue('q')
      return { kind: 'in', value: token.text, field: field.text }
    }
    const operator = take().text
    if (!operators[token.text]?.includes(operator)) throw invalidValue('q')
    const value = take()
    const isFlag = token.text === 'trashed' || token.text === 'starred'
    if (isFlag !== (value.type === 'word')) throw invalidValue('q')
    if (isFlag && !['true', 'false'].includes(value.text)) throw invalidValue('q')
    return { kind: 'compare', field: token.text, operator, value: isFlag ? value.text === 'true' : value.text }
  }

  const query = parseChain()
  if (rest.length > 0) throw invalidValue('q')
  return query
}

function tokenize(source: string): Token[] {
  const found: Token[] = []
  tokens.lastIndex = 0
  while (source.slice(tokens.lastIndex).trim() !== '') {
    const match = tokens.exec(source)
    if (!match) throw invalidValue('q')
    const [, text, symbol, word] = match
    if (text !== undefined) found.push({ type: 'text', text: text.replace(/\\(['\\])/g, '$1') })
    else if (symbol !== undefined) found.push({ type: 'symbol', text: symbol })
    else found.push({ type: 'word', text: word ?? '' })
  }
  return found
}

/** The properties of a file that queries can match. */
export interface Subject {
  name: string
  mimeType: string
  trashed: boolean
  createdTime: number
  modifiedTime: number
  parents: readonly string[]
}

/** `=` on names ignores case and Unicode composition, as Drive does in practice. */
export const nameKey = (name: string) => name.normalize('NFC').toLowerCase()

export function matches(query: Query, subject: Subject): boolean {
  switch (query.kind) {
    case 'and':
      return matches(query.left, subject) && matches(query.right, subject)
    case 'or':
      return matches(query.left, subject) || matches(query.right, subject)
    case 'not':
      return !matches(query.of, subject)
    case 'in':
      return subject.parents.includes(query.value)
    case 'compare':
      return compares(query, subject)
  }
}

function compares({ field, operator, value }: Extract<Query, { kind: 'compare' }>, subject: Subject): boolean {
  if (field === 'starred') return (value === false) === (operator === '=')
  if (field === 'trashed') return (subject.trashed === value) === (operator === '=')
  if (field === 'modifiedTime' || field === 'createdTime') return inTime(subject[field], operator, String(value))
  const [have, want] =
    field === 'name' ? [nameKey(subject.name), nameKey(String(value))] : [subject.mimeType, String(value)]
  if (operator === '=') return have === want
  if (operator === '!=') return have !== want
  // Match names by the beginnings of words, and types anywhere.
  return field === 'name' ? have.split(/[^\p{L}\p{N}]+/u).some(word => word.startsWith(want)) : have.includes(want)
}

function inTime(have: number, operator: string, text: string): boolean {
  const want = Date.parse(/Z|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`)
  if (Number.isNaN(want)) throw invalidValue('q')
  const results: Record<string, boolean> = {
    '=': have === want,
    '!=': have !== want,
    '<': have < want,
    '<=': have <= want,
    '>': have > want,
    '>=': have >= want,
  }
  return results[operator] ?? false
}

/** Returns the parent folder of all matches, if the query has one. */
export function parentOf(query: Query): string | undefined {
  if (query.kind === 'in') return query.value
  if (query.kind !== 'and') return undefined
  return parentOf(query.left) ?? parentOf(query.right)
}

/** Returns the possible names of matches, if the query has them. */
export function namesIn(query: Query): string[] | undefined {
  if (query.kind === 'compare' && query.field === 'name' && query.operator === '=') return [String(query.value)]
  if (query.kind !== 'and' && query.kind !== 'or') return undefined
  const [left, right] = [namesIn(query.left), namesIn(query.right)]
  if (query.kind === 'and') return left ?? right
  return left && right && [...left, ...right]
}
