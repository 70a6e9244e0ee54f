/**
 * The text of a comment as people see it. The server stores a mention as `@[id]`; a field shows `@` and the name, and the person
 * edits that.
 */

export interface MentionedPerson {
  id: string
  name: string
}

const mentionOrLink = /@\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\]|https?:\/\/[^\s<>"]+/g
/** Characters after an address that belong to the sentence. */
const sentenceEnd = new Set(".,;:!?)]}'")

export type TextPart =
  | { kind: 'text' | 'link'; text: string }
  /** Null for a person who is no longer a member. */
  | { kind: 'mention'; name: string | null }

/** Splits a stored text into what is shown in different ways. Only addresses of the web become links. */
export function partsOf(text: string, people: readonly MentionedPerson[]): TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  const addText = (until: number) => {
    if (until > end) parts.push({ kind: 'text', text: text.slice(end, until) })
  }
  for (const match of text.matchAll(mentionOrLink)) {
    const [whole, id] = match
    let length = whole.length
    if (id === undefined) while (sentenceEnd.has(whole.charAt(length - 1))) length -= 1
    const found = whole.slice(0, length)
    if (id === undefined && !URL.canParse(found)) continue
    addText(match.index)
    if (id === undefined) parts.push({ kind: 'link', text: found })
    else parts.push({ kind: 'mention', name: people.find(person => person.id === id)?.name ?? null })
    end = match.index + length
  }
  addText(text.length)
  return parts
}

/** Returns a stored text with the names of those whom it mentions. Others keep their ids, and so do people of one name. */
export function toTyped(text: string, people: readonly MentionedPerson[]): string {
  const isOnly = ({ name }: MentionedPerson) => people.filter(person => person.name === name).length === 1
  return people.filter(isOnly).reduce((typed, { id, name }) => typed.replaceAll(`@[${id}]`, () => `@${name}`), text)
}

/** Returns the text to store. @param people those whom the person has chosen */
export function toStored(typed: string, people: readonly MentionedPerson[]): string {
  // A name can begin with another one.
  const longestFirst = people.toSorted((a, b) => b.name.length - a.name.length)
  const store = (stored: string, { id, name }: MentionedPerson) =>
    stored.replaceAll(`@${name}`, (whole, start: number) =>
      wordLetter.test(stored.charAt(start + whole.length)) ? whole : `@[${id}]`,
    )
  return longestFirst.reduce(store, typed)
}

/** A letter or digit after a name makes it another word. Other scripts write words without spaces. */
const wordLetter = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}]/u

/** Characters of a name that is being typed. */
const maxTyped = 40

/** Returns where a mention begins that is being typed before the caret, and what was typed of the name; null for none. */
export function mentionBefore(text: string, caret: number): { start: number; search: string } | null {
  const before = text.slice(Math.max(0, caret - maxTyped - 1), caret)
  const at = before.lastIndexOf('@')
  if (at < 0) return null
  const search = before.slice(at + 1)
  const start = caret - search.length - 1
  // An address of email has a letter before it.
  const isWord = start === 0 || /[\s([{"'“«]/.test(text.charAt(start - 1))
  return isWord && !/[\n@[]/.test(search) && !search.startsWith(' ') ? { start, search } : null
}
