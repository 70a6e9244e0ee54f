/** Compares two texts line by line, and the words of the lines that replace each other. */
import { diffWordsWithSpace, structuredPatch } from 'diff'

export interface TextDiff {
  hunks: readonly DiffHunk[]
  /** The numbers of lines. */
  added: number
  removed: number
  /** Whether lines are missing, because there are too many. */
  isCut: boolean
}

export interface DiffHunk {
  /** The number of unchanged lines before. */
  skipped: number
  lines: readonly DiffLine[]
}

export interface DiffLine {
  kind: 'same' | 'removed' | 'added'
  /** The numbers of the line in both texts, from 1; null if it is not there. */
  older: number | null
  newer: number | null
  parts: readonly DiffPart[]
}

interface DiffPart {
  text: string
  /** Whether only this part of the line differs. */
  isChanged: boolean
}

/** Lines that are shown around a change. */
const context = 3
/** Lines that differ. The time grows with the square of their number, to about a second. */
const maxEditLength = 4000
/** Each is several elements of the page. */
export const maxLines = 3000
/** Characters. The words of longer lines are not compared. */
const maxLineLength = 1000
/** If less of two lines is the same, one does not replace a part of the other. */
const minCommon = 0.3

/** Returns null if the texts differ too much. */
export function diffTexts(older: string, newer: string): TextDiff | null {
  const options = { context, maxEditLength, stripTrailingCr: true, ignoreNewlineAtEof: true }
  const patch = structuredPatch('', '', older, newer, undefined, undefined, options)
  if (!patch) return null
  const hunks: DiffHunk[] = []
  const counts = { added: 0, removed: 0 }
  let [shown, next] = [0, 1]
  for (const { oldStart, newStart, oldLines, lines } of patch.hunks) {
    const found: DiffLine[] = []
    let [olderLine, newerLine] = [oldStart, newStart]
    for (const line of lines) {
      const parts = [{ text: line.slice(1), isChanged: false }]
      if (line.startsWith('-')) {
        found.push({ kind: 'removed', older: olderLine++, newer: null, parts })
        counts.removed += 1
      } else if (line.startsWith('+')) {
        found.push({ kind: 'added', older: null, newer: newerLine++, parts })
        counts.added += 1
      } else if (line.startsWith(' ')) found.push({ kind: 'same', older: olderLine++, newer: newerLine++, parts })
      // Other lines say that the text does not end with a line feed.
    }
    if (shown < maxLines) hunks.push({ skipped: oldStart - next, lines: withWords(found.slice(0, maxLines - shown)) })
    shown += found.length
    next = oldStart + oldLines
  }
  return { hunks, ...counts, isCut: shown > maxLines }
}

/** Pairs the lines of both texts for two columns. A line without a counterpart is beside null. */
export function sideBySide(lines: readonly DiffLine[]): [older: DiffLine | null, newer: DiffLine | null][] {
  const rows: [DiffLine | null, DiffLine | null][] = []
  for (const { same, removed, added } of blocksOf(lines)) {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1)
      rows.push([removed[index] ?? null, added[index] ?? null])
    if (same) rows.push([same, same])
  }
  return rows
}

interface DiffBlock {
  removed: DiffLine[]
  added: DiffLine[]
  /** The unchanged line after these. */
  same: DiffLine | null
}

function* blocksOf(lines: readonly DiffLine[]): Generator<DiffBlock, void, undefined> {
  let block: DiffBlock = { removed: [], added: [], same: null }
  for (const line of lines) {
    if (line.kind !== 'same') {
      block[line.kind].push(line)
      continue
    }
    yield { ...block, same: line }
    block = { removed: [], added: [], same: null }
  }
  yield block
}

/** Marks the words that differ where as many lines are added as removed. */
function withWords(lines: readonly DiffLine[]): DiffLine[] {
  return [...blocksOf(lines)].flatMap(({ removed, added, same }) => {
    const pairs =
      removed.length === added.length ? removed.map((line, index) => compareWords(line, added[index])) : null
    return [
      ...removed.map((line, index) => ({ ...line, parts: pairs?.[index]?.older ?? line.parts })),
      ...added.map((line, index) => ({ ...line, parts: pairs?.[index]?.newer ?? line.parts })),
      ...(same ? [same] : []),
    ]
  })
}

/** Returns null for lines that have little in common. */
function compareWords(olderLine: DiffLine, newerLine: DiffLine | undefined) {
  const [older, newer] = [textOf(olderLine), newerLine ? textOf(newerLine) : '']
  const length = Math.max(older.length, newer.length)
  if (length > maxLineLength) return null
  const changes = diffWordsWithSpace(older, newer)
  const common = changes.reduce((sum, { added, removed, value }) => (added || removed ? sum : sum + value.length), 0)
  if (common < length * minCommon) return null
  return {
    older: changes.filter(({ added }) => !added).map(({ value, removed }) => ({ text: value, isChanged: removed })),
    newer: changes.filter(({ removed }) => !removed).map(({ value, added }) => ({ text: value, isChanged: added })),
  }
}

function textOf({ parts }: DiffLine): string {
  return parts.map(({ text }) => text).join('')
}
