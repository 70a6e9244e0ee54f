/** Finds the regular expressions in source text and reports those that are not linear. */
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Diagnostics } from 'recheck'
import { type ESTree, parseSync, Visitor } from 'vite'

export interface Source {
  /** The file name, which ends in `.ts`, `.tsx` or `.js`. */
  name: string
  text: string
}

interface RegularExpression {
  pattern: string
  flags: string
  /** The position: `file:line`. */
  position: string
}

/** The checker counts steps as well. Its bounds of time would make the result depend on the load of the machine. */
const options = { timeout: null, attackTimeout: null, incubationTimeout: null, randomSeed: 1 }

// The native backend is several times faster than the one in JavaScript, and exists for some platforms only.
process.env.RECHECK_BACKEND = process.platform === 'linux' && process.arch === 'x64' ? 'native' : 'pure'
const { checkSync } = await import('recheck')

/**
 * Finds literals, and the patterns of JSON Schemas, which ajv compiles. A pattern that is built at run time cannot be checked.
 * @throws Error with the positions of such patterns
 */
export function regularExpressionsIn({ name, text }: Source): RegularExpression[] {
  const { program, errors } = parseSync(name, text)
  if (errors.length > 0) throw new Error(`${name}: ${errors.map(({ message }) => message).join(', ')}`)
  const found: RegularExpression[] = []
  const dynamic: string[] = []
  const placeOf = ({ start }: ESTree.Node) => `${name}:${text.slice(0, start).split('\n').length}`
  const requireLiteral = (node: ESTree.NewExpression | ESTree.CallExpression) => {
    if (node.callee.type === 'Identifier' && node.callee.name === 'RegExp') dynamic.push(placeOf(node))
  }
  new Visitor({
    Literal(node) {
      if ('regex' in node) found.push({ ...node.regex, position: placeOf(node) })
    },
    Property({ key, value }) {
      const isPattern =
        (key.type === 'Identifier' && key.name === 'pattern') || ('value' in key && key.value === 'pattern')
      if (!isPattern || value.type !== 'Literal' || typeof value.value !== 'string') return
      found.push({ pattern: value.value, flags: 'u', position: placeOf(value) })
    },
    NewExpression: requireLiteral,
    CallExpression: requireLiteral,
  }).visit(program)
  if (dynamic.length > 0) throw new Error(`Write these as literals, which can be checked: ${dynamic.join(', ')}`)
  return found
}

/** The patterns that this version of the checker has found to be linear, one in each line. */
const provenFile = new URL('../linear-patterns.txt', import.meta.url)
const { version } = createRequire(import.meta.url)('recheck/package.json')
const firstLine = `recheck ${version}`

/** Returns the literals of the patterns that need no second check, which takes seconds for some. */
export async function readProven(): Promise<Set<string>> {
  const [first, ...literals] = (await readFile(provenFile, 'utf8')).split('\n')
  return new Set(first === firstLine ? literals : [])
}

export async function writeProven(expressions: readonly RegularExpression[]): Promise<void> {
  const literals = [...new Set(expressions.map(literalOf))].toSorted()
  await writeFile(provenFile, [firstLine, ...literals, ''].join('\n'))
}

const literalOf = ({ pattern, flags }: RegularExpression) => `/${pattern}/${flags}`

/**
 * Returns a sentence for each pattern that is not linear or could not be checked.
 * @param proven the literals of patterns that are not checked
 */
export function superLinear(expressions: readonly RegularExpression[], proven: ReadonlySet<string>): string[] {
  const positions = Map.groupBy(
    expressions.filter(expression => !proven.has(literalOf(expression))),
    literalOf,
  )
  return [...positions].flatMap(([literal, [first, ...others]]) => {
    if (!first) return []
    const problem = describe(checkSync(first.pattern, first.flags, options))
    if (problem === null) return []
    return `${literal} in ${[first, ...others].map(({ position }) => position).join(', ')}: ${problem}`
  })
}

function describe(result: Diagnostics): string | null {
  if (result.status === 'safe') return null
  if (result.status === 'vulnerable') return `${result.complexity.summary}, with ${result.attack.pattern}`
  return `recheck cannot decide (${result.error.kind}): simplify the pattern`
}
