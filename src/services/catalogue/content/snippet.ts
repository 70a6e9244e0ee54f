/** The words around a hit in the text of a file. */
import { fold } from '../names.ts'
import { hasPrefix, type Phrase, type Segment, segmentsOf } from './words.ts'

/** The characters before and after each hit in a snippet. No text contains them otherwise. */
export const hitStart = '\u0002'
export const hitEnd = '\u0003'

/** Characters before the first hit, and of the whole snippet. */
const before = 60
const length = 220
const maxHits = 500
const ellipsis = '…'

interface Hit {
  /** The index of the phrase. */
  phrase: number
  start: number
  end: number
}

/** Returns the part of a text with the most of the phrases, with marks around its hits; null if it has none of them. */
export function snippetOf(text: string, phrases: readonly Phrase[]): string | null {
  const hits = hitsIn(text, phrases)
  const [best] = hits
    .map(hit => ({ hit, phrases: new Set(hits.filter(each => isNear(hit, each)).map(({ phrase }) => phrase)).size }))
    .sort((a, b) => b.phrases - a.phrases || a.hit.start - b.hit.start)
  if (!best) return null
  const from = wordAt(text, Math.max(0, best.hit.start - before), best.hit.start)
  const to = Math.max(best.hit.end, lastWordBefore(text, Math.min(text.length, from + length)))
  let snippet = from > 0 ? ellipsis : ''
  let at = from
  for (const { start, end } of hits) {
    if (start < at || end > to) continue
    snippet += text.slice(at, start) + hitStart + text.slice(start, end) + hitEnd
    at = end
  }
  snippet += text.slice(at, to) + (to < text.length ? ellipsis : '')
  return snippet.replaceAll('\n', ' ').toWellFormed()
}

function isNear(hit: Hit, other: Hit): boolean {
  return other.start >= hit.start - before && other.end <= hit.start - before + length
}

/** Returns the hits in their order, without those within others. */
function hitsIn(text: string, phrases: readonly Phrase[]): Hit[] {
  const segments = [...segmentsOf(text)]
  const folded: string[] = []
  const foldedAt = (index: number) => (folded[index] ??= fold(segments[index]?.text ?? ''))
  const hits: Hit[] = []
  let end = 0
  for (let index = 0; index < segments.length && hits.length < maxHits; index++) {
    for (const [phrase, parts] of phrases.entries()) {
      const hit = hitAt(index, parts)
      if (!hit || hit.start < end) continue
      hits.push({ ...hit, phrase })
      end = hit.end
    }
  }
  return hits

  function hitAt(index: number, parts: Phrase): { start: number; end: number } | null {
    const last = parts.length - 1
    let start = 0
    let stop = 0
    for (const [offset, part] of parts.entries()) {
      const segment = segments[index + offset]
      if (!segment || segment.isUnspaced !== part.isUnspaced) return null
      const found = within(segment, foldedAt(index + offset), part.text, {
        isFirst: offset === 0,
        isLast: offset === last,
      })
      if (!found) return null
      if (offset === 0) start = found.start
      stop = found.end
    }
    return { start, end: stop }
  }
}

/** Returns where a segment of a text contains a segment of a search. */
function within(
  { text, start, isUnspaced }: Segment,
  folded: string,
  wanted: string,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
): { start: number; end: number } | null {
  const all = { start, end: start + text.length }
  if (!isUnspaced) return folded === wanted || (isLast && hasPrefix(wanted) && folded.startsWith(wanted)) ? all : null
  const at = isFirst ? (isLast ? folded.indexOf(wanted) : folded.length - wanted.length) : 0
  if (at < 0 || !folded.startsWith(wanted, at)) return null
  // Folding changes the length of few characters of these scripts.
  return folded.length === text.length ? { start: start + at, end: start + at + wanted.length } : all
}

/** Returns the beginning of the first word from a position on, or the position itself in a long word. */
function wordAt(text: string, from: number, to: number): number {
  if (from === 0) return 0
  const space = text.slice(from, to).search(/\s/)
  return space < 0 ? from : from + space + 1
}

/** Returns the end of the last word before a position, or the position itself in a long word. */
function lastWordBefore(text: string, to: number): number {
  if (to === text.length) return to
  const space = Math.max(text.lastIndexOf(' ', to), text.lastIndexOf('\n', to))
  return space > to - before ? space : to
}
