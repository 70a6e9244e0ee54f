import type { PDFDocumentProxy } from 'pdfjs-dist/legacy/build/pdf.mjs'
import { useEffect, useMemo, useRef, useState } from 'react'
import { common } from '../../../../texts/common.ts'
import { texts } from '../../../../texts/viewers.ts'
import { Button } from '../../../../ui/button.tsx'
import { Icon } from '../../../../ui/icons.tsx'
import { useIsPhone } from '../../../../ui/window-size.ts'
import { Page, PageButton } from './page.tsx'
import { type Match, usePdfSearch } from './search.ts'
import './pdf.css'

/** Each page is an element and an observer, and a file can have any number of pages. */
const pagesAtOnce = 200
const zooms = [0.5, 0.75, 1, 1.25, 1.5, 2, 3]

/** Shows the pages of a PDF document below each other, with small pictures of all pages and a search. */
export function PdfDocument({ file, name }: { file: PDFDocumentProxy; name: string }) {
  const isPhone = useIsPhone()
  const pages = useRef<HTMLElement>(null)
  const [maxPages, setMaxPages] = useState(pagesAtOnce)
  const [current, setCurrent] = useState(1)
  const [zoom, setZoom] = useState(1)
  const [showsPages, setShowsPages] = useState(!isPhone && file.numPages > 1)
  const search = useMatches(file)
  const shown = Math.min(file.numPages, maxPages)
  const numbers = useMemo(() => Array.from({ length: shown }, (_, index) => index + 1), [shown])

  const goTo = (number: number) => {
    const page = Math.min(file.numPages, Math.max(1, number))
    if (page > shown) setMaxPages(Math.ceil(page / pagesAtOnce) * pagesAtOnce)
    setCurrent(page)
    // The page may only come with the next frame.
    requestAnimationFrame(() => pages.current?.querySelector(`[data-page="${page}"]`)?.scrollIntoView())
  }
  const onScroll = () => {
    const element = pages.current
    if (!element) return
    const [top, bottom] = [element.scrollTop, element.scrollTop + element.clientHeight]
    const middle = (top + bottom) / 2
    const all = [...element.querySelectorAll<HTMLElement>('.pdf-page')]
    const present = all[current - 1]
    // If several pages are in the window, the one that was chosen stays the present one.
    if (present && present.offsetTop >= top && present.offsetTop + present.offsetHeight <= bottom) return
    const at = all.findLastIndex(({ offsetTop }) => offsetTop <= middle)
    setCurrent(Math.max(0, at) + 1)
  }
  const { match, byPage } = search
  useEffect(() => {
    if (!match) return
    setCurrent(match.page)
    setMaxPages(most => Math.max(most, Math.ceil(match.page / pagesAtOnce) * pagesAtOnce))
    requestAnimationFrame(() => {
      const page = pages.current?.querySelector(`[data-page="${match.page}"]`)
      page?.scrollIntoView({ block: 'nearest' })
    })
  }, [match])
  const zoomTo = (step: 1 | -1) => setZoom(zooms[zooms.indexOf(zoom) + step] ?? zoom)
  return (
    <div className="pdf-view">
      <div className="pdf-bar" role="toolbar" aria-label={texts.pdfTools}>
        {file.numPages > 1 && (
          <Button
            variant="quiet"
            aria-label={texts.pages}
            aria-pressed={showsPages}
            onPress={() => setShowsPages(!showsPages)}
          >
            <Icon name="rows" />
          </Button>
        )}
        <PageField key={current} number={current} count={file.numPages} onGo={goTo} />
        <div className="pdf-zoom">
          <Button variant="quiet" aria-label={texts.zoomOut} isDisabled={zoom === zooms[0]} onPress={() => zoomTo(-1)}>
            <Icon name="minus" />
          </Button>
          <span>{texts.percent(zoom * 100)}</span>
          <Button
            variant="quiet"
            aria-label={texts.zoomIn}
            isDisabled={zoom === zooms.at(-1)}
            onPress={() => zoomTo(1)}
          >
            <Icon name="plus" />
          </Button>
        </div>
        <SearchField search={search} />
      </div>
      <div className="pdf-columns">
        {showsPages && (
          <nav className="pdf-sidebar" aria-label={texts.pages} data-scrolls="">
            {numbers.map(number => (
              <PageButton key={number} file={file} number={number} isCurrent={number === current} onPress={goTo} />
            ))}
          </nav>
        )}
        <section
          ref={pages}
          className="pdf-pages"
          aria-label={name}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the pages scroll
          tabIndex={0}
          data-scrolls=""
          style={{ '--pdf-zoom': zoom } as object}
          onScroll={onScroll}
        >
          {numbers.map(number => (
            <Page
              key={number}
              file={file}
              number={number}
              matches={byPage.get(number)}
              current={match?.page === number ? match : undefined}
            />
          ))}
          {shown < file.numPages && (
            <div className="pdf-more">
              <p>{texts.firstPages(shown, file.numPages)}</p>
              <Button onPress={() => setMaxPages(shown + pagesAtOnce)}>{common.showMore}</Button>
            </div>
          )}
        </section>
      </div>
    </div>
  )
}

/** The text that a person searches, and the match that they look at. */
function useMatches(file: PDFDocumentProxy) {
  const [query, setQuery] = useState('')
  const [index, setIndex] = useState(0)
  const found = usePdfSearch(file, query)
  const matches = found?.matches
  const count = matches?.length ?? 0
  const byPage = useMemo(() => Map.groupBy(matches ?? [], ({ page }) => page), [matches])
  return {
    query,
    ask: (text: string) => {
      setQuery(text)
      setIndex(0)
    },
    isDone: found?.isDone ?? false,
    count,
    index,
    match: matches?.[index] as Match | undefined,
    byPage,
    step: (direction: 1 | -1) => setIndex(count === 0 ? 0 : (index + direction + count) % count),
  }
}

function SearchField({ search }: { search: ReturnType<typeof useMatches> }) {
  const { query, ask, count, index, isDone, step } = search
  const status = count > 0 ? texts.match(index + 1, count) : isDone ? texts.noMatch : ''
  return (
    <search className="pdf-search">
      <input
        type="search"
        aria-label={texts.searchDocument}
        placeholder={texts.searchDocument}
        value={query}
        onChange={({ target }) => ask(target.value)}
        onKeyDown={({ key, shiftKey }) => {
          if (key === 'Enter') step(shiftKey ? -1 : 1)
        }}
      />
      <span role="status">{status}</span>
      <Button variant="quiet" aria-label={texts.previousMatch} isDisabled={count === 0} onPress={() => step(-1)}>
        <Icon name="up" />
      </Button>
      <Button variant="quiet" aria-label={texts.nextMatch} isDisabled={count === 0} onPress={() => step(1)}>
        <Icon name="down" />
      </Button>
    </search>
  )
}

function PageField({ number, count, onGo }: { number: number; count: number; onGo: (number: number) => void }) {
  const [text, setText] = useState(String(number))
  const go = () => {
    const wanted = Number.parseInt(text, 10)
    if (Number.isNaN(wanted)) setText(String(number))
    else if (wanted !== number) onGo(wanted)
  }
  return (
    <div className="pdf-number">
      <input
        inputMode="numeric"
        aria-label={texts.pageNumber}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onBlur={go}
        onKeyDown={({ key }) => {
          if (key === 'Enter') go()
        }}
      />
      <span>{texts.ofPages(count)}</span>
    </div>
  )
}
