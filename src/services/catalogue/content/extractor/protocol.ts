/** The task of a process that extracts text, and its result. */

/** The readers of text. Each reads a family of file formats. */
export type TextKind = 'text' | 'html' | 'pdf' | 'office' | 'mail' | 'image'

export interface ExtractTask {
  kind: TextKind
  /** The size of the original in bytes; null if the back end does not report it. */
  size: number | null
  /** Bytes of the original that are read at most. */
  maxBytes: number
  /** The path of the program tesseract; null if there is none. */
  tesseract: string | null
}

/** The parts of a text that the search keeps. */
export interface Extracted {
  /** The beginning of the text, for snippets: at most `maxText` characters. */
  text: string
  /** All words, as a literal of PostgreSQL's type tsvector: at most `maxVector` characters. */
  words: string
}

/** Characters of a file that are searched. */
export const maxContent = 2 * 1024 * 1024
/** Characters of a file that are kept for snippets. */
export const maxText = 256 * 1024
/** Characters. PostgreSQL's own form has less than a megabyte. */
export const maxVector = 4 * 1024 * 1024
