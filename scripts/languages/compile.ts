/** Compiles the texts of a language into functions, so that the console contains no parser of messages. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'vite'
import { isRightToLeft } from '../../src/lib/languages.ts'
import { type Message, type MessagePart, parseMessage, placeholdersOf } from '../../src/lib/message-format.ts'
import { readEnglish, type Source } from './extract.ts'

/** The texts of a language by their keys, such as `files.items`. */
export type Translations = Readonly<Record<string, string>>

export async function readTranslations(file: string): Promise<Translations> {
  return JSON.parse(await readFile(file, 'utf8'))
}

/**
 * Returns the module of a language, whose default export takes the `helpers` of `web/src/texts/catalog.ts`.
 *
 * @param isolates whether values keep the direction of their own letters: in a sentence from right to left, the slash of "/a/b.txt"
 *   would otherwise stand at its end
 */
export function compileTranslations(
  sources: ReadonlyMap<string, Source>,
  translations: Translations,
  isolates = false,
): string {
  const tree: Tree = new Map()
  for (const [key, source] of sources) {
    const text = translations[key]
    if (text !== undefined) place(tree, key.split('.'), compileText(key, source, text, isolates))
  }
  return `export default h=>(${treeCode(tree)})`
}

type Tree = Map<string, string | Tree>

function place(tree: Tree, [name = '', ...rest]: readonly string[], code: string): void {
  if (rest.length === 0) {
    tree.set(name, code)
    return
  }
  const child = tree.get(name)
  const inner: Tree = child instanceof Map ? child : new Map()
  tree.set(name, inner)
  place(inner, rest, code)
}

function treeCode(tree: Tree): string {
  return `{${[...tree].map(([name, child]) => `${JSON.stringify(name)}:${typeof child === 'string' ? child : treeCode(child)}`).join(',')}}`
}

/** @throws Error if the text is not a valid message with the placeholders of the English one */
function compileText(key: string, source: Source, text: string, isolates: boolean): string {
  const message = parseMessage(text)
  const wrong = [...placeholdersOf(message)].filter(name => !source.placeholders.has(name))
  if (wrong.length > 0) throw new Error(`${key} has no placeholder ${wrong.join(', ')}.`)
  const code = new Compiler(source, isolates).code(message)
  return source.parameters === null ? code : `(${source.parameters.join(',')})=>${code}`
}

class Compiler {
  readonly #source: Source
  readonly #isolates: boolean

  constructor(source: Source, isolates: boolean) {
    this.#source = source
    this.#isolates = isolates
  }

  code(original: Message): string {
    const [only] = original
    if (only === undefined) return '""'
    if (original.length === 1 && (only.kind === 'text' || this.#source.isRich)) return this.#part(only)
    const message = this.#isolates && original.length > 1 ? original.flatMap(isolated) : original
    if (this.#source.isRich) return `h.r(${message.map(part => this.#part(part)).join(',')})`
    const parts = message.map(part => (part.kind === 'text' ? literalCode(part.text) : `\${${this.#part(part)}}`))
    return `\`${parts.join('')}\``
  }

  #part(part: MessagePart): string {
    if (part.kind === 'text') return JSON.stringify(part.text)
    const value = this.#source.placeholders.get(part.name)
    if (part.kind === 'count') return `h.number(${value})`
    if (part.kind === 'argument') return part.format === null ? `${value}` : `h.${part.format}(${value})`
    if (part.kind === 'tag') return `${value}(${this.code(part.content)})`
    const options = [...part.options].map(([name, option]) => `${JSON.stringify(name)}:${this.code(option)}`)
    return `h.${part.type}(${value},{${options.join(',')}})`
  }
}

/** Puts a value between the characters of Unicode that separate its direction from that of the text around it. */
function isolated(part: MessagePart): Message {
  if (part.kind !== 'argument' || part.format !== null) return [part]
  return [{ kind: 'text', text: '\u2068' }, part, { kind: 'text', text: '\u2069' }]
}

function literalCode(text: string): string {
  return text.replaceAll(/[\\`]|\$(?=\{)/g, String.raw`\$&`)
}

const prefix = 'language:'

/** Makes `web/languages/de.json` the module `language:de`. */
export function languagesPlugin(web: string): Plugin {
  return {
    name: 'languages',
    resolveId: id => (id.startsWith(prefix) ? `\0${id}` : null),
    async load(id) {
      if (!id.startsWith(`\0${prefix}`)) return null
      const tag = id.slice(prefix.length + 1)
      const file = join(web, 'languages', `${tag}.json`)
      this.addWatchFile(file)
      const english = await readEnglish(join(web, 'src/texts'))
      return compileTranslations(english, await readTranslations(file), isRightToLeft(tag))
    },
  }
}
