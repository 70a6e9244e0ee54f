/** The text of PDF documents. Pages that are pictures alone are recognized where tesseract is installed. */
import { type PDFiumDocument, PDFiumLibrary, type PDFiumPage } from '@hyzyla/pdfium'
import { type Original, readWhole } from '../../../decoding/original.ts'
import { recognizeWith } from './ocr.ts'
import { type ExtractTask, maxContent } from './protocol.ts'

const maxPages = 5000
/** Pages after which the document is opened again, because the library keeps every page in memory. */
const pagesAtOnce = 50
/** Milliseconds. The text that was found until then is kept. */
const readingTime = 30_000
const maxScans = 20
/** Pixels of the longer side of a page that is recognized: about 200 for each inch of a page of paper. */
const scanPixels = 2300

/** @throws Error if the document is damaged or encrypted */
export async function readPdf(original: Original, { maxBytes, tesseract }: ExtractTask): Promise<string> {
  const bytes = await readWhole(original, maxBytes)
  const endsAt = performance.now() + readingTime
  const library = await PDFiumLibrary.init()
  const found: string[] = []
  const scans: number[] = []
  let length = 0
  for (let first = 0, count = 1; first < count; first += pagesAtOnce) {
    const document = await library.loadDocument(bytes)
    try {
      count = Math.min(maxPages, document.getPageCount())
      for (let index = first; index < Math.min(count, first + pagesAtOnce); index++) {
        if (length >= maxContent || performance.now() > endsAt) return found.join('\n')
        const text = textOf(document, index)
        if (text.trim() === '') scans.push(index)
        found.push(text)
        length += text.length
      }
    } finally {
      document.destroy()
    }
  }
  if (tesseract === null || scans.length === 0 || length > 0) return found.join('\n')
  const recognize = await recognizeWith(tesseract)
  for (const index of scans.slice(0, maxScans)) {
    if (performance.now() > endsAt) break
    const document = await library.loadDocument(bytes)
    try {
      found.push(await recognize(await render(document.getPage(index))))
    } finally {
      document.destroy()
    }
  }
  return found.join('\n')
}

/** A damaged page has no text, and the others have theirs. */
function textOf(document: PDFiumDocument, index: number): string {
  try {
    return document.getPage(index).getText()
  } catch {
    return ''
  }
}

async function render(page: PDFiumPage) {
  const { originalWidth, originalHeight } = page.getOriginalSize()
  const scale = scanPixels / Math.max(1, originalWidth, originalHeight)
  const { width, height, data } = await page.render({
    width: Math.max(1, Math.round(originalWidth * scale)),
    height: Math.max(1, Math.round(originalHeight * scale)),
    render: 'bitmap',
  })
  return { width, height, rgba: data }
}
