/**
 * Renders the part of Go's text/template and of Helm's functions that the chart uses. It throws on everything else, so a
 * template cannot use more unnoticed.
 */
import { stringify } from 'yaml'

type Node =
  | { kind: 'text'; text: string }
  | { kind: 'output'; pipeline: string }
  | { kind: 'assign'; name: string; pipeline: string }
  | { kind: 'if' | 'with' | 'range'; pipeline: string; names: string[]; body: Node[]; otherwise: Node[] }
  | { kind: 'define'; name: string; body: Node[] }

interface Scope {
  dot: unknown
  /** `$` and the variables of the template. */
  variables: ReadonlyMap<string, unknown>
}

type Call = (...args: never[]) => unknown

const string = (value: unknown) => (value === undefined || value === null ? '' : String(value))
const isTrue = (value: unknown) =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)

const functions: Record<string, Call> = {
  and: (...values: unknown[]) => values.find(value => !isTrue(value)) ?? values.at(-1),
  or: (...values: unknown[]) => values.find(isTrue) ?? values.at(-1),
  not: (value: unknown) => !isTrue(value),
  gt: (a: number, b: number) => a > b,
  int: (value: unknown) => Math.trunc(Number(value)),
  has: (item: unknown, list: unknown[]) => list.includes(item),
  contains: (part: string, whole: string) => whole.includes(part),
  default: (fallback: unknown, value: unknown) => (isTrue(value) ? value : fallback),
  quote: (value: unknown) => JSON.stringify(string(value)),
  printf: (format: string, ...values: unknown[]) => format.replaceAll('%s', () => string(values.shift())),
  trunc: (length: number, text: string) => text.slice(0, length),
  trimSuffix: (suffix: string, text: string) => (text.endsWith(suffix) ? text.slice(0, -suffix.length) : text),
  toYaml: (value: unknown) => stringify(value).trimEnd(),
  nindent: (width: number, text: string) =>
    `\n${text
      .split('\n')
      .map(line => ' '.repeat(width) + line)
      .join('\n')}`,
  fail: (message: string) => {
    throw new Error(message)
  },
}

/** Renders templates that share their definitions. @throws Error of `fail`, and for what it does not know */
export function renderTemplates(
  sources: Readonly<Record<string, string>>,
  context: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const definitions = new Map<string, Node[]>()
  const templates = Object.entries(sources).map(([name, source]) => [name, parse(tokens(source), null).body] as const)
  for (const [, body] of templates)
    for (const node of body) if (node.kind === 'define') definitions.set(node.name, node.body)

  const include = (name: string, dot: unknown): string => {
    const body = definitions.get(name)
    if (!body) throw new Error(`There is no template ${name}`)
    return render(body, { dot, variables: new Map([['$', dot]]) })
  }

  function render(nodes: readonly Node[], outer: Scope): string {
    let scope = outer
    let text = ''
    for (const node of nodes) {
      if (node.kind === 'text') text += node.text
      else if (node.kind === 'output') text += string(evaluate(node.pipeline, scope))
      else if (node.kind === 'assign') scope = withVariable(scope, node.name, evaluate(node.pipeline, scope))
      else if (node.kind !== 'define') text += renderBlock(node, scope)
    }
    return text
  }

  function renderBlock(node: Extract<Node, { body: Node[]; names: string[] }>, scope: Scope): string {
    const value = evaluate(node.pipeline, scope)
    if (!isTrue(value)) return render(node.otherwise, scope)
    if (node.kind === 'if') return render(node.body, scope)
    if (node.kind === 'with') return render(node.body, { ...scope, dot: value })
    return Object.entries(value as object)
      .map(([key, dot]) => {
        const values = node.names.length === 2 ? [key, dot] : [dot]
        const inner = node.names.reduce((all, name, index) => withVariable(all, name, values[index]), scope)
        return render(node.body, { ...inner, dot })
      })
      .join('')
  }

  function evaluate(pipeline: string, scope: Scope): unknown {
    const words = pipeline.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? []
    let at = 0
    const operand = (): unknown => {
      const word = words[at++] ?? ''
      if (word === '(') {
        const value = commands()
        at += 1
        return value
      }
      if (word.startsWith('"') || /^\d+$/.test(word)) return JSON.parse(word)
      const [, variable = '', path = ''] = /^(\$\w*)?((?:\.\w*)*)$/.exec(word) ?? []
      if (variable === '' && path === '') throw new Error(`Unknown operand ${word} in ${pipeline}`)
      if (variable !== '' && !scope.variables.has(variable)) throw new Error(`Unknown variable ${variable}`)
      const base = variable === '' ? scope.dot : scope.variables.get(variable)
      return path
        .split('.')
        .filter(Boolean)
        .reduce((value, name) => (value as Record<string, unknown>)[name], base)
    }
    const command = (...piped: unknown[]): unknown => {
      const word = words[at] ?? ''
      const call = word === 'include' ? include : functions[word]
      if (!call) return operand()
      at += 1
      const args: unknown[] = []
      while (at < words.length && words[at] !== '|' && words[at] !== ')') args.push(operand())
      return (call as (...all: unknown[]) => unknown)(...args, ...piped)
    }
    const commands = (): unknown => {
      let value = command()
      while (words[at] === '|') {
        at += 1
        value = command(value)
      }
      return value
    }
    const value = commands()
    if (at < words.length) throw new Error(`Not understood: ${pipeline}`)
    return value
  }

  const scope: Scope = { dot: context, variables: new Map([['$', context]]) }
  return Object.fromEntries(templates.map(([name, body]) => [name, render(body, scope)]))
}

function withVariable(scope: Scope, name: string, value: unknown): Scope {
  return { ...scope, variables: new Map([...scope.variables, [name, value]]) }
}

type Token = { text: string } | { action: string }

/** Splits a template into text and actions, without the white space that `{{-` and `-}}` remove. */
function tokens(source: string): Token[] {
  const found: Token[] = []
  let end = 0
  let trims = false
  for (const { 0: whole, 1: left, 2: action = '', 3: right, index } of source.matchAll(
    /\{\{(- )?\s*(.*?)\s*( -)?\}\}/gs,
  )) {
    const text = source.slice(end, index)
    const begun = trims ? text.trimStart() : text
    found.push({ text: left ? begun.trimEnd() : begun }, { action })
    end = index + whole.length
    trims = right !== undefined
  }
  const rest = source.slice(end)
  return [...found, { text: trims ? rest.trimStart() : rest }]
}

/** Parses up to the `end` or `else` of the block, or up to the end of the template. */
function parse(rest: Token[], block: string | null): { body: Node[]; isElse: boolean } {
  const body: Node[] = []
  for (let token = rest.shift(); token; token = rest.shift()) {
    if ('text' in token) {
      body.push({ kind: 'text', text: token.text })
      continue
    }
    const { action } = token
    const [, keyword = '', pipeline = ''] = /^(\w+)\b\s*(.*)$/s.exec(action) ?? []
    const [, name, assigned] = /^(\$\w+) := (.*)$/s.exec(action) ?? []
    if (keyword === 'end' || keyword === 'else') {
      if (block === null) throw new Error(`Unexpected ${action}`)
      return { body, isElse: keyword === 'else' }
    }
    if (keyword === 'define') {
      body.push({ kind: 'define', name: JSON.parse(pipeline), body: parse(rest, keyword).body })
    } else if (keyword === 'if' || keyword === 'with' || keyword === 'range') {
      const [, names = '', over = pipeline] = /^(\$\w+(?:, \$\w+)?) := (.*)$/s.exec(pipeline) ?? []
      const first = parse(rest, keyword)
      const otherwise = first.isElse ? parse(rest, keyword).body : []
      const list = names === '' ? [] : names.split(', ')
      body.push({ kind: keyword, pipeline: over, names: list, body: first.body, otherwise })
    } else if (name !== undefined && assigned !== undefined) body.push({ kind: 'assign', name, pipeline: assigned })
    else body.push({ kind: 'output', pipeline: action })
  }
  if (block !== null) throw new Error(`${block} has no end`)
  return { body, isElse: false }
}
