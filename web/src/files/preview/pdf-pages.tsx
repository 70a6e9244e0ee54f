import {
  GlobalWorkerOptions,
  getDocument,
  type PDFDocumentProxy,
  VerbosityLevel,
} from 'pdfjs-dist/legacy/build/pdf.mjs'
// oxlint-disable-next-line import/default -- the build makes the address
import workerUrl from 'pdfjs-dist/legacy/build/pdf.worker.min.mjs?url'
import { useEffect, useRef, useState } from 'react'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'

/** Phones without a viewer are often old, so this is the build for old browsers. */
GlobalWorkerOptions.workerSrc = workerUrl

/** Pixels. Larger canvases fail on phones. */
const maxWidth = 2400
/** Pages within this distance of the visible part are drawn. */
const drawnMargin = '100% 0px'
/** Each page is an element and an observer, and a file can have any number of pages. */
const pagesAtOnce = 200
/** Height by width of a page before it is known: that of A4. */
const usualRatio = Math.SQRT2

/** Draws the pages of a PDF file, each when it comes near. */
export function PdfPages({ content, name }: { content: Blob; name: string }) {
  const [file, setFile] = useState<PDFDocumentProxy | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [maxPages, setMaxPages] = useState(pagesAtOnce)
  useEffect(() => {
    let task: ReturnType<typeof getDocument> | null = null
    let isGone = false
    const open = async () => {
      const data = new Uint8Array(await content.arrayBuffer())
      if (isGone) return
      task = getDocument({ data, enableXfa: false, useWasm: false, verbosity: VerbosityLevel.ERRORS })
      const loaded = await task.promise
      if (!isGone) setFile(loaded)
    }
    open().catch(cause => {
      if (!isGone) setError(new Error(texts.pdfFailed, { cause }))
    })
    return () => {
      isGone = true
      void task?.destroy()
    }
  }, [content])
  if (error) return <ErrorBox error={error} />
  if (!file) return <Loading label={common.loading} />
  const shown = Math.min(file.numPages, maxPages)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the pages scroll
    <section className="pdf-pages" aria-label={name} tabIndex={0}>
      {Array.from({ length: shown }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pages never move
        <Page key={index} file={file} number={index + 1} />
      ))}
      {shown < file.numPages && (
        <div className="pdf-more">
          <p>{texts.firstPages(shown, file.numPages)}</p>
          <Button onPress={() => setMaxPages(shown + pagesAtOnce)}>{common.showMore}</Button>
        </div>
      )}
    </section>
  )
}

function Page({ file, number }: { file: PDFDocumentProxy; number: number }) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [isNear, setNear] = useState(false)
  const [ratio, setRatio] = useState(usualRatio)
  /** The text of the page, for screen readers. */
  const [text, setText] = useState('')
  useEffect(() => {
    const observer = new IntersectionObserver(
      entries => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true)
      },
      { root: frame.current?.parentElement ?? null, rootMargin: drawnMargin },
    )
    if (frame.current) observer.observe(frame.current)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (!isNear) return
    let stop = () => {}
    let isGone = false
    const draw = async () => {
      const page = await file.getPage(number)
      const size = page.getViewport({ scale: 1 })
      const target = canvas.current
      if (isGone || !target) return
      setRatio(size.height / size.width)
      const width = Math.min(maxWidth, target.clientWidth * devicePixelRatio)
      const viewport = page.getViewport({ scale: width / size.width })
      target.width = viewport.width
      target.height = viewport.height
      const task = page.render({ canvas: target, viewport })
      stop = () => task.cancel()
      await task.promise
      const { items } = await page.getTextContent()
      if (!isGone) setText(items.map(item => ('str' in item ? item.str : '')).join(' '))
    }
    // A page that is damaged or canceled stays empty, and the others are shown.
    draw().catch(() => {})
    return () => {
      isGone = true
      stop()
    }
  }, [file, number, isNear])
  return (
    <div ref={frame} className="pdf-page" style={{ aspectRatio: 1 / ratio }}>
      <canvas ref={canvas} role="img" aria-label={texts.page(number, file.numPages)} />
      {text !== '' && <p className="visually-hidden">{text}</p>}
    </div>
  )
}
