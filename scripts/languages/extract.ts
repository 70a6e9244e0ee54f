/** Reads the English texts of the console, which are TypeScript, as messages for translators. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { parseAst } from 'vite'
import { quoteText } from '../../src/lib/message-format.ts'
import { EnglishFunction, type Node } from './english.ts'

/** A text of the console. */
export interface Source {
  /** The English text in ICU MessageFormat. */
  message: string
  /** The parameters of the function as they are written, without types; null for a plain text. */
  parameters: readonly string[] | null
  /** The expression of each placeholder, with the parameters as its variables. */
  placeholders: ReadonlyMap<string, string>
  /** Whether the text consists of placeholders alone, so that a translation is only needed for another order. */
  isOptional: boolean
  /** Whether the text has React nodes as its parts. */
  isRich: boolean
}

/** The catalogs that people other than developers never see. */
const internal = new Set(['design'])

/** Returns the texts of each catalog by their keys, such as `files.items`. */
export async function readEnglish(folder: string): Promise<ReadonlyMap<string, Source>> {
  const sources = new Map<string, Source>()
  for (const name of (await readdir(folder)).toSorted()) {
    const code = await readFile(join(folder, name), 'utf8')
    if (internal.has(basename(name, extname(name))) || !code.includes('catalog(')) continue
    for (const [key, source] of textsIn(code)) {
      if (sources.has(key)) throw new Error(`Two texts have the key ${key}.`)
      sources.set(key, source)
    }
  }
  return sources
}

/** Finds `catalog('name', { ... })` at the top level of a file. */
function* textsIn(code: string): Generator<[key: string, source: Source]> {
  const program = parseAst(code, { lang: 'tsx' }) as unknown as Node
  for (const statement of program.body as Node[]) {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declaration?.type !== 'VariableDeclaration') continue
    for (const { init } of declaration.declarations) {
      if (init?.type === 'CallExpression' && init.callee.name === 'catalog') {
        const [name, texts] = init.arguments
        yield* textsOf(code, name.value, texts)
      }
    }
  }
}

function* textsOf(code: string, prefix: string, value: Node): Generator<[key: string, source: Source]> {
  if (value.type.startsWith('TS')) yield* textsOf(code, prefix, value.expression)
  else if (value.type === 'ObjectExpression') {
    for (const property of value.properties) {
      yield* textsOf(code, `${prefix}.${property.key.name ?? property.key.value}`, property.value)
    }
  } else if (value.type === 'ArrayExpression') {
    for (const [index, element] of value.elements.entries()) yield* textsOf(code, `${prefix}.${index}`, element)
  } else if (value.type === 'ArrowFunctionExpression') {
    const source = new EnglishFunction(code, value, prefix).source()
    yield [prefix, { ...source, isOptional: !hasWords(source.message) }]
  } else {
    // `detailed('...')` is made of the text that it is given.
    const text =
      value.type === 'CallExpression' ? value.arguments[0]?.value : (value.value ?? value.quasis?.[0]?.value.cooked)
    if (typeof text !== 'string') throw new Error(`${prefix} is neither a text nor a function that returns one.`)
    if (hasWords(text))
      yield [
        prefix,
        { message: quoteText(text), parameters: null, placeholders: new Map(), isOptional: false, isRich: false },
      ]
  }
}

/** Whether a message has anything to translate, such as a word, besides its placeholders. */
function hasWords(message: string): boolean {
  return /[\p{L}“”]/u.test(
    message.replaceAll(/\{\w+(?:, (?:number|date|time)(?:, \w+)?)?\}/g, '').replaceAll(/\{\w+, \w+,|\w+ (?=\{)/g, ''),
  )
}
