/** Searches the text of a PDF document, page by page. */
import type { PDFDocumentProxy } from 'pdfjs-dist/legacy/build/pdf.mjs'
import { useEffect, useState } from 'react'

const maxMatches = 1000
const maxPages = 5000
/** Characters of all pages. */
const maxText = 20_000_000
/** Milliseconds after the last key. */
const delay = 250

/** The text of a page, with a space at each end of a line. */
interface PageText {
  text: string
  /** The positions of these spaces, which the layer of text does not have. */
  lineEnds: readonly number[]
}

export interface Match {
  /** From 1. */
  page: number
  /** Positions in the layer of text of the page. */
  start: number
  end: number
}

/** Returns the matches in a document in their order, while they are found. */
export function usePdfSearch(file: PDFDocumentProxy, query: string) {
  const [found, setFound] = useState<{ query: string; matches: readonly Match[]; isDone: boolean } | null>(null)
  useEffect(() => {
    const wanted = lower(query.trim())
    if (wanted === '') return
    let isGone = false
    const search = async () => {
      let matches: readonly Match[] = []
      let length = 0
      for (let page = 1; page <= Math.min(file.numPages, maxPages); page++) {
        const text = await textOf(file, page)
        if (isGone) return
        length += text.text.length
        const here = matchesIn(text, wanted, page)
        if (here.length > 0) {
          matches = [...matches, ...here].slice(0, maxMatches)
          setFound({ query, matches, isDone: false })
        }
        if (matches.length >= maxMatches || length > maxText) break
      }
      setFound({ query, matches, isDone: true })
    }
    const timer = setTimeout(() => {
      // A page whose text cannot be read has none.
      search().catch(() => {})
    }, delay)
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [file, query])
  return found?.query === query && query.trim() !== '' ? found : null
}

/** The positions stay the same, which the lower case of few characters does not keep. */
function lower(text: string): string {
  const changed = text.toLowerCase()
  return changed.length === text.length ? changed : text
}

async function textOf(file: PDFDocumentProxy, number: number): Promise<PageText> {
  const page = await file.getPage(number)
  const { items } = await page.getTextContent().catch(() => ({ items: [] }))
  const lineEnds: number[] = []
  let text = ''
  for (const item of items) {
    if (!('str' in item)) continue
    text += item.str
    if (!item.hasEOL) continue
    lineEnds.push(text.length)
    text += ' '
  }
  return { text, lineEnds }
}

function matchesIn({ text, lineEnds }: PageText, wanted: string, page: number): Match[] {
  const searched = lower(text)
  let passed = 0
  // The positions ascend, so each end of a line is passed once.
  const inLayer = (at: number) => {
    while ((lineEnds[passed] ?? at) < at) passed += 1
    return at - passed
  }
  const matches: Match[] = []
  for (let at = searched.indexOf(wanted); at >= 0 && matches.length < maxMatches; ) {
    const end = at + wanted.length
    matches.push({ page, start: inLayer(at), end: inLayer(end) })
    at = searched.indexOf(wanted, end)
  }
  return matches
}

/** Returns the range of characters of an element. */
export function rangeIn(element: Element, { start, end }: Match): Range | null {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const range = new Range()
  let at = 0
  let hasStart = false
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const length = node.nodeValue?.length ?? 0
    if (!hasStart && start < at + length) {
      range.setStart(node, start - at)
      hasStart = true
    }
    if (hasStart && end <= at + length) {
      range.setEnd(node, end - at)
      return range
    }
    at += length
  }
  return null
}
