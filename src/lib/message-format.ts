/**
 * Messages in the format of ICU MessageFormat, as far as the catalogs use it: arguments, `plural` and `select`, `#`, tags,
 * and apostrophes that quote braces (https://unicode-org.github.io/icu/userguide/format_parse/messages/).
 */

export type MessagePart =
  | { kind: 'text'; text: string }
  | { kind: 'argument'; name: string; format: string | null }
  | { kind: 'choice'; type: 'plural' | 'select'; name: string; options: ReadonlyMap<string, Message> }
  /** The `#` of a plural. */
  | { kind: 'count'; name: string }
  | { kind: 'tag'; name: string; content: Message }

export type Message = readonly MessagePart[]

const formats = new Set(['number', 'date', 'time'])
const token = /[\w=]+/y

/** @throws Error at the first character that is not part of a valid message */
export function parseMessage(source: string): Message {
  let at = 0

  function fail(expected: string): never {
    throw new Error(`Expected ${expected} at character ${at + 1} of: ${source}`)
  }

  function skipSpace(): void {
    while (/\s/.test(source[at] ?? '')) at += 1
  }

  function word(expected: string): string {
    skipSpace()
    token.lastIndex = at
    const found = token.exec(source)?.[0] ?? fail(expected)
    at += found.length
    skipSpace()
    return found
  }

  function take(character: string): void {
    if (source[at] !== character) fail(`“${character}”`)
    at += 1
  }

  function options(type: 'plural' | 'select', name: string): ReadonlyMap<string, Message> {
    const found = new Map<string, Message>()
    while (source[at] !== '}') {
      const key = word('an option')
      take('{')
      found.set(key, message(type === 'plural' ? name : null, '}'))
      take('}')
      skipSpace()
    }
    if (!found.has('other')) fail('the option “other”')
    return found
  }

  function argument(): MessagePart {
    take('{')
    const name = word('the name of a placeholder')
    if (source[at] === '}') {
      at += 1
      return { kind: 'argument', name, format: null }
    }
    take(',')
    const type = word('a type')
    if (type === 'plural' || type === 'select') {
      take(',')
      skipSpace()
      const found = options(type, name)
      take('}')
      return { kind: 'choice', type, name, options: found }
    }
    if (!formats.has(type)) fail('plural, select, number, date or time')
    let format = type
    if (source[at] === ',') {
      at += 1
      format = word('a style')
    }
    take('}')
    return { kind: 'argument', name, format }
  }

  /** A tag, or null if the “<” is text. */
  function tag(plural: string | null): MessagePart | null {
    const name = /^<([a-z]\w*)>/.exec(source.slice(at, at + 40))?.[1]
    if (name === undefined) return null
    at += name.length + 2
    const content = message(plural, '<')
    const end = `</${name}>`
    if (!source.startsWith(end, at)) fail(end)
    at += end.length
    return { kind: 'tag', name, content }
  }

  /** Reads the text between apostrophes. Two of them are one, and one that quotes nothing is itself. */
  function apostrophe(): string {
    if (source[at + 1] === "'") {
      at += 2
      return "'"
    }
    if (!/[{}<#]/.test(source[at + 1] ?? '')) {
      at += 1
      return "'"
    }
    const end = source.indexOf("'", at + 1)
    if (end < 0) fail('a closing apostrophe')
    const text = source.slice(at + 1, end)
    at = end + 1
    return text
  }

  function message(plural: string | null, end: '}' | '<' | null): Message {
    const parts: MessagePart[] = []
    let text = ''
    const add = (part: MessagePart) => {
      if (text !== '') parts.push({ kind: 'text', text })
      text = ''
      parts.push(part)
    }
    while (at < source.length) {
      const character = source[at] ?? ''
      if (character === '}') {
        if (end === '}') break
        fail('no “}”')
      }
      if (character === '<' && end === '<' && source[at + 1] === '/') break
      const found = character === '<' ? tag(plural) : null
      if (found) add(found)
      else if (character === '{') add(argument())
      else if (character === "'") text += apostrophe()
      else if (character === '#' && plural !== null) {
        at += 1
        add({ kind: 'count', name: plural })
      } else {
        text += character
        at += 1
      }
    }
    if (text !== '') parts.push({ kind: 'text', text })
    return parts
  }

  return message(null, null)
}

/** Quotes the characters of a text that have a meaning in messages. */
export function quoteText(text: string): string {
  return text.replaceAll(/[{}]|<(?=[a-z])/g, "'$&'")
}

/** The names of all placeholders and tags of a message. */
export function placeholdersOf(message: Message): ReadonlySet<string> {
  const found = new Set<string>()
  for (const part of message) {
    if (part.kind !== 'text') found.add(part.name)
    const inner = part.kind === 'choice' ? [...part.options.values()] : part.kind === 'tag' ? [part.content] : []
    for (const name of inner.flatMap(one => [...placeholdersOf(one)])) found.add(name)
  }
  return found
}
