import { Fragment } from 'react'

const words = /"([^"]*)"?|[^\s"]+/g
/** Searches have at most 200 characters, and names 1,024 bytes. */
const maxLength = 2000

/** Folds a text as the search does, one character for each of the text, so that positions stay. */
function foldEach(text: string): string[] {
  return Array.from(text, character => character.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase())
}

/** Returns for each character of a text whether it is one of the words of a search. */
function marksOf(characters: readonly string[], query: string): boolean[] {
  const marks = characters.map(() => false)
  const starts: number[] = []
  let folded = ''
  for (const character of characters) {
    starts.push(folded.length)
    folded += character
  }
  const wanted = Array.from(query.matchAll(words), ([part, phrase]) =>
    foldEach(phrase ?? part)
      .join('')
      .trim(),
  )
  for (const word of wanted) {
    if (word === '') continue
    for (let at = folded.indexOf(word); at >= 0; at = folded.indexOf(word, at + word.length)) {
      const end = at + word.length
      starts.forEach((start, index) => {
        if (start >= at && start < end) marks[index] = true
      })
    }
  }
  return marks
}

/** The server puts these around each hit. */
const hitStart = '\u0002'
const hitEnd = '\u0003'

/** Shows the words around the hits in the text of a file. */
export function Snippet({ text }: { text: string }) {
  const parts = text.split(hitStart).flatMap((part, index) => (index === 0 ? [part] : part.split(hitEnd)))
  return parts.map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other key
    index % 2 === 1 ? <mark key={index}>{part}</mark> : <Fragment key={index}>{part}</Fragment>,
  )
}

/** Shows a name with the words of a search marked. */
export function Highlighted({ text, query }: { text: string; query: string }) {
  if (query === '' || text.length > maxLength) return text
  const characters = Array.from(text)
  const marks = marksOf(foldEach(text), query)
  const runs: { text: string; isMarked: boolean }[] = []
  characters.forEach((character, index) => {
    const isMarked = marks[index] ?? false
    const last = runs.at(-1)
    if (last && last.isMarked === isMarked) last.text += character
    else runs.push({ text: character, isMarked })
  })
  return runs.map(({ text, isMarked }, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the runs of a text have no other key
    isMarked ? <mark key={index}>{text}</mark> : <Fragment key={index}>{text}</Fragment>,
  )
}
