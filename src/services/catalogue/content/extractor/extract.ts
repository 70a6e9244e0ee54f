/**
 * These files run in processes apart from the server. The bytes of a file enter, and its text leaves.
 *
 * This file extracts the text of an original: a reader finds it, and the rest prepares it for the database.
 */
import type { Original } from '../../../decoding/original.ts'
import { vectorOf, wordsOf } from '../words.ts'
import { type Extracted, type ExtractTask, maxContent, maxText, type TextKind } from './protocol.ts'

type TextReader = (original: Original, task: ExtractTask) => Promise<string>

/** Loads a reader when the first file needs it. */
const readers: Record<TextKind, () => Promise<TextReader>> = {
  text: async () => (await import('./plain-text.ts')).readText,
  html: async () => (await import('./html.ts')).readHtml,
  pdf: async () => (await import('./pdf-text.ts')).readPdf,
  office: async () => (await import('./office.ts')).readOffice,
  mail: async () => (await import('./mail.ts')).readMail,
  image: async () => (await import('./ocr.ts')).readImage,
}

const controls = /[^\P{Cc}\n]/gu
const spaces = /[^\S\n]+/g
const lineEnds = / ?\n[ \n]*/g

/** @throws ReadCanceled; any other error if the file has no text that can be read */
export async function extract(original: Original, task: ExtractTask): Promise<Extracted> {
  const read = await readers[task.kind]()
  const found = (await read(original, task)).slice(0, maxContent).toWellFormed()
  // Snippets mark hits with control characters.
  const text = found.replace(controls, ' ').normalize('NFC').replace(spaces, ' ').replace(lineEnds, '\n').trim()
  return { text: text.slice(0, maxText).toWellFormed(), words: vectorOf(wordsOf(text)) }
}
