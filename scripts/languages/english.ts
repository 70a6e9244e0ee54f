import { quoteText } from '../../src/lib/message-format.ts'
import type { Source } from './extract.ts'

// biome-ignore lint/suspicious/noExplicitAny: the nodes of ESTree with TypeScript and JSX have no type here
export type Node = any

/** How the functions of `web/src/texts/format.ts` are called in messages. */
const formats: Readonly<Record<string, string>> = {
  formatNumber: 'number',
  formatBytes: 'number, bytes',
  formatDuration: 'number, duration',
  formatDistance: 'date, distance',
  formatDay: 'date, day',
  formatMonth: 'date, month',
  formatMinute: 'date, minute',
  formatRecent: 'date, recent',
}

/** Translates a function that returns a text, such as `(count: number) => formatCount(count, 'item')`, into a message. */
export class EnglishFunction {
  readonly #code: string
  readonly #node: Node
  readonly #key: string
  readonly #parameters: ReadonlyMap<string, string>
  readonly #locals = new Map<string, Node>()
  readonly #placeholders = new Map<string, string>()

  constructor(code: string, node: Node, key: string) {
    this.#code = code
    this.#node = node
    this.#key = key
    this.#parameters = new Map(node.params.flatMap((parameter: Node) => this.#namesOf(parameter)))
  }

  source(): Omit<Source, 'isOptional'> {
    const types = [...this.#parameters.values()].join(' ')
    return {
      message: this.#body(this.#node.body),
      parameters: this.#node.params.map((parameter: Node) => this.#pattern(parameter)),
      placeholders: this.#placeholders,
      isRich: types.includes('ReactNode'),
    }
  }

  /** The names of a parameter, with the text of its type. */
  #namesOf(parameter: Node): [name: string, type: string][] {
    const type = parameter.typeAnnotation ? this.#text(parameter.typeAnnotation) : ''
    if (parameter.type === 'Identifier') return [[parameter.name, type]]
    if (parameter.type === 'ObjectPattern') {
      return parameter.properties.map((property: Node) => [property.value.name, ''])
    }
    throw this.#error(parameter)
  }

  #pattern(parameter: Node): string {
    if (parameter.type === 'Identifier') return parameter.name
    return `{ ${parameter.properties.map((property: Node) => property.value.name).join(', ')} }`
  }

  #text(node: Node): string {
    return this.#code.slice(node.start, node.end)
  }

  #error(node: Node): Error {
    return new Error(
      `${this.#key}: translators cannot get “${this.#text(node)}”. Use placeholders, formatCount, “===” and “??”, or split it.`,
    )
  }

  /** The message of a body: constants, returns behind conditions, and a return. */
  #body(body: Node): string {
    if (body.type !== 'BlockStatement') return this.#message(body)
    return this.#statements(body.body)
  }

  #statements(statements: readonly Node[]): string {
    const [first, ...rest] = statements
    if (first?.type === 'VariableDeclaration') {
      for (const { id, init } of first.declarations) this.#locals.set(id.name, init)
      return this.#statements(rest)
    }
    if (first?.type === 'ReturnStatement') return this.#message(first.argument)
    if (first?.type === 'IfStatement') {
      const then = first.consequent.type === 'BlockStatement' ? first.consequent.body : [first.consequent]
      return this.#choice(
        first.test,
        () => this.#statements(then),
        () => this.#statements(rest),
      )
    }
    throw this.#error(first ?? this.#node)
  }

  #message(node: Node): string {
    switch (node.type) {
      case 'Literal':
        return typeof node.value === 'string' ? quoteText(node.value) : this.#placeholder(node)
      case 'TemplateLiteral':
        return node.quasis
          .map((quasi: Node, index: number) => {
            const expression = node.expressions[index]
            return quoteText(quasi.value.cooked) + (expression ? this.#message(expression) : '')
          })
          .join('')
      case 'ConditionalExpression':
        return this.#choice(
          node.test,
          () => this.#message(node.consequent),
          () => this.#message(node.alternate),
        )
      case 'LogicalExpression':
        if (node.operator === '&&') {
          return this.#choice(
            node.left,
            () => this.#message(node.right),
            () => '',
          )
        }
        return `{${this.#name(node.left)}, select, null {${this.#message(node.right)}} other {${this.#message(node.left)}}}`
      case 'ParenthesizedExpression':
        return this.#message(node.expression)
      case 'JSXFragment':
        return this.#children(node.children)
      case 'CallExpression':
        return this.#call(node)
      case 'Identifier': {
        const local = this.#locals.get(node.name)
        return local ? this.#message(local) : this.#placeholder(node)
      }
      default:
        return this.#placeholder(node)
    }
  }

  /** Joins the lines of JSX as React does. */
  #children(children: readonly Node[]): string {
    const message = children.map(child => {
      if (child.type === 'JSXExpressionContainer') return this.#message(child.expression)
      if (child.type !== 'JSXText') throw this.#error(child)
      const lines: string[] = child.value.split('\n')
      const trimmed = lines.map((line, index) => {
        const start = index === 0 ? line : line.trimStart()
        return index === lines.length - 1 ? start : start.trimEnd()
      })
      return quoteText(trimmed.filter(line => line !== '').join(' '))
    })
    return message.join('')
  }

  #call(node: Node): string {
    const { name } = node.callee
    const [value, ...words] = node.arguments
    if (name === 'formatCount') {
      const one = words[0].value
      const several = words[1]?.value ?? `${one}s`
      const [single, plural] = [`# ${one}`, `# ${several}`]
      const argument = this.#name(value)
      return single === plural
        ? `{${argument}, number} ${one}`
        : `{${argument}, plural, one {${single}} other {${plural}}}`
    }
    if (name in formats) return `{${this.#name(value)}, ${formats[name]}}`
    if (this.#parameters.get(name)?.includes('=>')) {
      this.#placeholders.set(name, name)
      return `<${name}>${this.#message(value)}</${name}>`
    }
    return this.#placeholder(node)
  }

  #choice(test: Node, yes: () => string, no: () => string): string {
    if (test.type === 'BinaryExpression' && ['===', '!=='].includes(test.operator)) {
      const [then, otherwise] = test.operator === '===' ? [yes, no] : [no, yes]
      const name = this.#name(test.left)
      const { value } = test.right
      if (typeof value !== 'number')
        return `{${name}, select, ${value === '' ? 'empty' : value} {${then()}} other {${otherwise()}}}`
      return `{${name}, plural, ${value === 1 ? 'one' : `=${value}`} {${then()}} other {${otherwise()}}}`
    }
    return `{${this.#name(test)}, select, true {${yes()}} other {${no()}}}`
  }

  #placeholder(node: Node): string {
    return `{${this.#name(node)}}`
  }

  /** Names an expression: `names.length` is `names_length`, and a calculation has the names that it uses. */
  #name(node: Node): string {
    const expression = this.#expand(node)
    const name = expression
      .replaceAll(/=>|[^\w]+/g, '_')
      .replaceAll(/_+/g, '_')
      .replaceAll(/^_|_$/g, '')
    const known = this.#placeholders.get(name)
    if (known !== undefined && known !== expression) throw this.#error(node)
    const free = expression.replaceAll(/(['"`]).*?\1/g, '').match(/(?<![.\w?])[a-zA-Z_]\w*/g) ?? []
    const bound = new Set(expression.match(/\w+(?= =>)/g))
    const isKnown = (word: string) =>
      this.#parameters.has(word) || bound.has(word) || ['Math', 'typeof', 'null'].includes(word)
    if (!free.every(isKnown)) throw this.#error(node)
    this.#placeholders.set(name, expression)
    return name
  }

  /** The text of an expression, with the local constants of the function in it. */
  #expand(node: Node): string {
    const text = this.#text(node)
    for (const [name, value] of this.#locals) {
      if (text === name) return this.#expand(value)
      if (new RegExp(`^(typeof )?${name}\\b`).test(text)) return text.replace(name, this.#text(value))
    }
    return text
  }
}
