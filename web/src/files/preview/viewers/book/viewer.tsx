import { useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useState } from 'react'
import { StowageError } from '../../../../api/client.ts'
import { common } from '../../../../texts/common.ts'
import { texts } from '../../../../texts/viewers.ts'
import { Button } from '../../../../ui/button.tsx'
import { ErrorBox } from '../../../../ui/error-box.tsx'
import { Icon } from '../../../../ui/icons.tsx'
import { Loading } from '../../../../ui/loading.tsx'
import { FileCard } from '../../file-card.tsx'
import { contentKey, type ViewerProps } from '../../viewer.ts'
import { pageOf } from './chapter.ts'
import { type Book, openBook } from './open.ts'
import './book.css'

/** Shows an electronic book, one chapter at a time. Each is a page of its own, in which nothing can run. */
export function BookViewer(props: ViewerProps) {
  return <OpenedBook key={contentKey(props.file).join()} {...props} />
}

function OpenedBook({ file, onDownload }: ViewerProps) {
  const [book, setBook] = useState<Book | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  const open = useEffectEvent((signal: AbortSignal) => openBook(file, signal))
  // Chapters are read while the book is shown, which is longer than a query lasts, so the end of the viewer ends all reading.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt opens the book again
  useEffect(() => {
    const gone = new AbortController()
    open(gone.signal).then(
      opened => {
        if (!gone.signal.aborted) setBook(opened)
      },
      failure => {
        if (!gone.signal.aborted) setError(failure)
      },
    )
    return () => {
      gone.abort()
      setBook(null)
    }
  }, [attempt])
  const retry = () => {
    setError(null)
    setAttempt(attempt + 1)
  }
  if (error instanceof StowageError) return <ErrorBox error={error} retry={retry} />
  if (error !== null) return <FileCard file={file} note={texts.bookFailed} onDownload={onDownload} />
  return book ? <Chapters book={book} id={file.id} name={file.name} /> : <Loading label={common.loading} />
}

function Chapters({ book, id, name }: { book: Book; id: string; name: string }) {
  const { chapters, title, author } = book
  const [index, setIndex] = useState(0)
  const chapter = chapters[index]
  const { data, error, refetch } = useQuery({
    queryKey: ['chapter', id, chapter?.path],
    queryFn: ({ signal }) => (chapter ? pageOf(book, chapter, colorsOfPage(), signal) : ''),
    gcTime: 0,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <section className="book" aria-label={name}>
      <div className="book-bar" role="toolbar" aria-label={texts.chapters}>
        <p>
          <strong>{title ?? name}</strong>
          {author && <span> {author}</span>}
        </p>
        <Button
          variant="quiet"
          aria-label={texts.previousChapter}
          isDisabled={index === 0}
          onPress={() => setIndex(index - 1)}
        >
          <Icon name="up" />
        </Button>
        <select aria-label={texts.chapter} value={index} onChange={({ target }) => setIndex(Number(target.value))}>
          {chapters.map(({ path, title }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a book can have a document twice
            <option key={`${at}${path}`} value={at}>
              {title ?? texts.chapterNumber(at + 1)}
            </option>
          ))}
        </select>
        <Button
          variant="quiet"
          aria-label={texts.nextChapter}
          isDisabled={index === chapters.length - 1}
          onPress={() => setIndex(index + 1)}
        >
          <Icon name="down" />
        </Button>
      </div>
      {error instanceof StowageError ? (
        <ErrorBox error={error} retry={refetch} />
      ) : error ? (
        <p className="preview-note">{texts.chapterFailed}</p>
      ) : data === undefined ? (
        <Loading label={common.loading} />
      ) : (
        <iframe key={index} sandbox="" srcDoc={data} title={chapter?.title ?? texts.chapterNumber(index + 1)} />
      )}
    </section>
  )
}

/** The page of a chapter does not know the colors of this one. */
function colorsOfPage(): string {
  const style = getComputedStyle(document.querySelector('.preview-frame') ?? document.body)
  const at = (name: string) => {
    const probe = document.createElement('span')
    probe.style.color = `var(${name})`
    document.body.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
  return `:root { color-scheme: ${style.colorScheme}; background: ${at('--surface')}; color: ${at('--ink')}; }`
}
