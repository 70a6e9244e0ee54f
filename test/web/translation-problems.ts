/** Finds what is wrong with a translated message. */
import { type Message, parseMessage, placeholdersOf } from '../../src/lib/message-format.ts'

/** The placeholders that a translation invents or drops, and the plural forms that it invents or lacks. */
export function problemsOf(tag: string, source: string, text: string): string[] {
  const message = parseMessage(text)
  const expected = placeholdersOf(parseMessage(source))
  const found = placeholdersOf(message)
  const dropped = [...expected].filter(name => !found.has(name))
  const invented = [...found].filter(name => !expected.has(name))
  return [...dropped, ...invented, ...pluralProblems(tag, message, conditionsOf(parseMessage(source)))]
}

/** The numbers of an English text that are only compared with exact ones, such as 0, and have no plural forms. */
function conditionsOf(message: Message): Set<string> {
  const found = new Set<string>()
  for (const part of message) {
    if (part.kind !== 'choice') continue
    const keys = [...part.options.keys()]
    if (part.type === 'plural' && keys.every(key => key.startsWith('=') || key === 'other')) found.add(part.name)
    for (const inner of part.options.values()) for (const name of conditionsOf(inner)) found.add(name)
  }
  return found
}

const knownNumbers = new Map<string, { forms: string[]; numbers: Map<string, number[]> }>()

/** The plural forms of a language, and the whole numbers that have each of them. */
function wholeNumbers(tag: string) {
  const known = knownNumbers.get(tag)
  if (known) return known
  const rules = new Intl.PluralRules(tag)
  const numbers = Map.groupBy(Array(301).keys(), count => rules.select(count))
  const found = { forms: rules.resolvedOptions().pluralCategories as string[], numbers }
  knownNumbers.set(tag, found)
  return found
}

/** A form is needed if whole numbers have it, unless they are all exact ones, such as `=0`. */
export function pluralProblems(tag: string, message: Message, conditions: ReadonlySet<string> = new Set()): string[] {
  const { forms, numbers } = wholeNumbers(tag)
  const isExact = (keys: string[], counts: number[]) => counts.every(count => keys.includes(`=${count}`))
  const problems = (parts: Message): string[] =>
    parts.flatMap(part => {
      if (part.kind === 'tag') return problems(part.content)
      if (part.kind !== 'choice') return []
      const inner = [...part.options.values()].flatMap(problems)
      if (part.type !== 'plural') return inner
      const keys = [...part.options.keys()]
      const named = keys.filter(key => !key.startsWith('='))
      const invented = named.filter(key => !forms.includes(key))
      const isCondition = conditions.has(part.name) && named.every(key => key === 'other')
      const lacking = [...numbers].flatMap(([form, counts]) =>
        // A count of zero reads well in the general form of the languages that have one of its own.
        isCondition || keys.includes(form) || form === 'zero' || isExact(keys, counts) ? [] : [form],
      )
      return [
        ...invented.map(form => `the plural form ${form} does not exist`),
        ...lacking.map(form => `the plural form ${form} is missing`),
        ...inner,
      ]
    })
  return problems(message)
}
