import { type PageViewport, type PDFDocumentProxy, type PDFPageProxy, TextLayer } from 'pdfjs-dist/legacy/build/pdf.mjs'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { texts } from '../../../../texts/viewers.ts'
import { type Match, rangeIn } from './search.ts'

/** Pixels. Larger canvases fail on phones. */
const [maxWidth, maxHeight] = [2400, 8000]
/** Pages within this distance of the visible part are drawn. */
const drawnMargin = '100% 0px'
/** Height by width of a page before it is known: that of A4. */
const usualRatio = Math.SQRT2
const noMatches: readonly Match[] = []

/** The marks of matches. They belong to the document and not to an element. */
const marks = 'highlights' in CSS ? { all: new Highlight(), current: new Highlight() } : null
if (marks) {
  CSS.highlights.set('pdf-match', marks.all)
  CSS.highlights.set('pdf-current-match', marks.current)
}

/** Returns whether an element is near the visible part of what scrolls it, and how wide it is. */
function useFrame(frame: RefObject<HTMLElement | null>) {
  const [isNear, setNear] = useState(false)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = frame.current
    if (!element) return
    const nearness = new IntersectionObserver(entries => setNear(entries.at(-1)?.isIntersecting ?? false), {
      root: element.closest('[data-scrolls]'),
      rootMargin: drawnMargin,
    })
    const size = new ResizeObserver(() => setWidth(Math.round(element.clientWidth)))
    nearness.observe(element)
    size.observe(element)
    return () => {
      nearness.disconnect()
      size.disconnect()
    }
  }, [frame])
  return { isNear, width }
}

/** Sizes a canvas for a page, and returns how the page fills it. @param width pixels */
function fit(canvas: HTMLCanvasElement, page: PDFPageProxy, width: number): PageViewport {
  const { width: pageWidth, height: pageHeight } = page.getViewport({ scale: 1 })
  const viewport = page.getViewport({ scale: Math.min(width / pageWidth, maxHeight / pageHeight) })
  canvas.width = viewport.width
  canvas.height = viewport.height
  return viewport
}

/** Frees the memory of a drawing. A document can have hundreds of them, and the memory of phones has room for a few. */
function clear(canvas: HTMLCanvasElement | null): void {
  if (!canvas) return
  canvas.width = 0
  canvas.height = 0
}

/** One page, which is drawn while it is near. Its text can be selected. */
export function Page({
  file,
  number,
  matches = noMatches,
  current,
}: {
  file: PDFDocumentProxy
  number: number
  /** The matches of the search on this page. */
  matches: readonly Match[] | undefined
  /** The one that is shown. */
  current: Match | undefined
}) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const layer = useRef<HTMLDivElement>(null)
  const { isNear, width } = useFrame(frame)
  const [ratio, setRatio] = useState(usualRatio)
  /** Counts the layers of text that were made. */
  const [layers, setLayers] = useState(0)
  useEffect(() => {
    if (!isNear || width === 0) return clear(canvas.current)
    let stop = () => {}
    let isGone = false
    const draw = async () => {
      const page = await file.getPage(number)
      const size = page.getViewport({ scale: 1 })
      const [target, container] = [canvas.current, layer.current]
      if (isGone || !target || !container) return
      setRatio(size.height / size.width)
      const viewport = fit(target, page, Math.min(maxWidth, width * devicePixelRatio))
      const task = page.render({ canvas: target, viewport })
      const text = new TextLayer({
        textContentSource: page.streamTextContent(),
        container,
        viewport: page.getViewport({ scale: width / size.width }),
      })
      container.replaceChildren()
      container.style.setProperty('--total-scale-factor', String(width / size.width))
      stop = () => {
        task.cancel()
        text.cancel()
      }
      await Promise.all([task.promise, text.render()])
      if (!isGone) setLayers(count => count + 1)
    }
    // A page that is damaged or canceled stays empty, and the others are shown.
    draw().catch(() => {})
    return () => {
      isGone = true
      stop()
    }
  }, [file, number, isNear, width])
  useEffect(() => {
    const container = layer.current
    if (!marks || !container || layers === 0) return
    const all: Range[] = []
    for (const match of matches) {
      const range = rangeIn(container, match)
      if (!range) continue
      all.push(range)
      marks.all.add(range)
      if (match !== current) continue
      marks.current.add(range)
      range.startContainer.parentElement?.scrollIntoView({ block: 'center', inline: 'nearest' })
    }
    return () => {
      for (const range of all) {
        marks.all.delete(range)
        marks.current.delete(range)
      }
    }
  }, [matches, current, layers])
  return (
    <div ref={frame} className="pdf-page" dir="ltr" data-page={number} style={{ aspectRatio: 1 / ratio }}>
      <canvas ref={canvas} role="img" aria-label={texts.page(number, file.numPages)} />
      <div ref={layer} className="pdf-text" />
    </div>
  )
}

/** A small picture of a page, which goes to it. */
export function PageButton({
  file,
  number,
  isCurrent,
  onPress,
}: {
  file: PDFDocumentProxy
  number: number
  isCurrent: boolean
  onPress: (number: number) => void
}) {
  const frame = useRef<HTMLButtonElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const { isNear, width } = useFrame(frame)
  const [ratio, setRatio] = useState(usualRatio)
  useEffect(() => {
    if (!isNear || width === 0) return clear(canvas.current)
    let stop = () => {}
    let isGone = false
    const draw = async () => {
      const page = await file.getPage(number)
      const size = page.getViewport({ scale: 1 })
      const target = canvas.current
      if (isGone || !target) return
      setRatio(size.height / size.width)
      const viewport = fit(target, page, width * devicePixelRatio)
      const task = page.render({ canvas: target, viewport })
      stop = () => task.cancel()
      await task.promise
    }
    draw().catch(() => {})
    return () => {
      isGone = true
      stop()
    }
  }, [file, number, isNear, width])
  useEffect(() => {
    if (isCurrent) frame.current?.scrollIntoView({ block: 'nearest' })
  }, [isCurrent])
  return (
    <button
      ref={frame}
      type="button"
      className="pdf-page-button"
      aria-label={texts.goToPage(number)}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={() => onPress(number)}
    >
      <canvas ref={canvas} style={{ aspectRatio: 1 / ratio }} />
      <span>{number}</span>
    </button>
  )
}
