/** The first page of a PDF document. */
import { PDFiumLibrary } from '@hyzyla/pdfium'
import { type Original, readWhole } from '../../decoding/original.ts'
import type { Picture, ThumbnailTask } from './protocol.ts'

let loading: Promise<PDFiumLibrary> | undefined

/** @throws Error if the document is damaged, encrypted or empty */
export async function renderPage(original: Original, { pixels }: ThumbnailTask): Promise<Picture> {
  const bytes = await readWhole(original)
  loading ??= PDFiumLibrary.init()
  const document = await (await loading).loadDocument(bytes)
  try {
    const page = document.getPage(0)
    const { originalWidth: width, originalHeight: height } = page.getOriginalSize()
    const scale = pixels / Math.max(width, height)
    const rendered = await page.render({
      width: Math.max(1, Math.round(width * scale)),
      height: Math.max(1, Math.round(height * scale)),
      render: 'bitmap',
    })
    return { width: rendered.width, height: rendered.height, rgba: rendered.data }
  } finally {
    document.destroy()
  }
}
