import type { PDFDocumentProxy } from 'pdfjs-dist/legacy/build/pdf.mjs'
import { useEffect, useEffectEvent, useState } from 'react'
import { StowageError } from '../../../../api/client.ts'
import { common } from '../../../../texts/common.ts'
import { formatBytes } from '../../../../texts/format.ts'
import { texts } from '../../../../texts/viewers.ts'
import { ErrorBox } from '../../../../ui/error-box.tsx'
import { Loading } from '../../../../ui/loading.tsx'
import { FileCard } from '../../file-card.tsx'
import { contentKey, type ViewedFile, type ViewerProps } from '../../viewer.ts'
import { TooLarge } from '../bytes.ts'
import { PdfDocument } from './document.tsx'
import { maxPdf, maxUnknown, openPdf } from './open.ts'

export function PdfViewer({ file, onDownload }: ViewerProps) {
  if (file.size !== null && file.size > maxPdf) {
    return <FileCard file={file} note={texts.pdfTooLarge(formatBytes(maxPdf))} onDownload={onDownload} />
  }
  return <PdfView key={contentKey(file).join()} file={file} size={file.size} read={file.read} onDownload={onDownload} />
}

/** Shows a PDF document: a file, or what the server has made of one. */
export function PdfView({
  file,
  size,
  read,
  label = common.loading,
  onDownload,
}: Pick<ViewedFile, 'size' | 'read'> & {
  file: ViewedFile
  /** Shown while the document is loading. */
  label?: string
  onDownload: () => void
}) {
  const [shown, setShown] = useState<PDFDocumentProxy | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  // Another content has another key.
  const start = useEffectEvent((signal: AbortSignal, onFailed: (error: unknown) => void) =>
    openPdf({ size, read }, signal, onFailed),
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt opens the document again
  useEffect(() => {
    const gone = new AbortController()
    const { signal } = gone
    let close = () => {}
    const fail = (error: unknown) => {
      if (!signal.aborted) setError(error)
    }
    const open = async () => {
      const task = await start(signal, fail)
      close = () => void task.destroy()
      if (signal.aborted) return close()
      const loaded = await task.promise
      if (!signal.aborted) setShown(loaded)
    }
    open().catch(fail)
    return () => {
      gone.abort()
      close()
      setShown(null)
    }
  }, [attempt])
  const retry = () => {
    setError(null)
    setAttempt(attempt + 1)
  }
  if (error instanceof StowageError) {
    if (error.reason === 'NO_RENDITION') return <FileCard file={file} onDownload={onDownload} />
    return <ErrorBox error={error} retry={retry} />
  }
  if (error !== null) {
    const note =
      error instanceof TooLarge ? texts.pdfTooLarge(formatBytes(size === null ? maxUnknown : maxPdf)) : texts.pdfFailed
    return <FileCard file={file} note={note} onDownload={onDownload} />
  }
  return shown ? <PdfDocument file={shown} name={file.name} /> : <Loading label={label} />
}
