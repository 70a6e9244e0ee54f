/** The content of a file or of one of its earlier versions, in a view for its type. */
import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { stowage } from '../../api/client.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import type { PreviewKind } from './file-types.ts'
import type { ContentLocation } from './load-text.ts'
import { Media } from './media.tsx'
import { TableView } from './table.tsx'
import { DocumentView } from './text.tsx'

interface ViewedFile {
  name: string
  mimeType: string | null
  size: number | null
}

/** The browser shows these by a link; the others are read by the page. */
const mediaKinds: ReadonlySet<PreviewKind> = new Set(['image', 'video', 'audio'])

/** Returns whether the view of a file needs a link to its content. */
export function needsLink(kind: PreviewKind, { mimeType }: Pick<ViewedFile, 'mimeType'>): boolean {
  // The server lets a page frame only this type, without parameters.
  return mediaKinds.has(kind) || (kind === 'pdf' && navigator.pdfViewerEnabled && mimeType === 'application/pdf')
}

export function ContentView({
  at,
  file: { name, mimeType, size },
  kind,
  link,
  onDirty,
  onSwipe,
}: {
  at: ContentLocation
  file: ViewedFile
  kind: PreviewKind
  /** A link to the content; null for a view that needs none. */
  link: string | null
  /** Called when a text begins or ceases to differ from the file. Without it, texts cannot be edited. */
  onDirty?: (isDirty: boolean) => void
  onSwipe?: (direction: 1 | -1) => void
}) {
  if (kind === 'text') return <DocumentView at={at} name={name} type={mimeType} onDirty={onDirty} />
  if (kind === 'table') return <TableView at={at} name={name} />
  if (kind === 'pdf') {
    return link === null ? <PdfView at={at} name={name} size={size} /> : <PdfFrame link={link} name={name} />
  }
  return link !== null && <Media kind={kind} link={link} name={name} onSwipe={onSwipe} />
}

export function NoPreview({ onDownload }: { onDownload: () => void }) {
  return (
    <div className="no-preview">
      <Icon name="file" />
      <p>{texts.noPreview}</p>
      <Button variant="primary" onPress={onDownload}>
        <Icon name="download" />
        {texts.download}
      </Button>
    </div>
  )
}

/** Bytes. The file is loaded into memory. */
const maxSize = 100 * 1024 * 1024

const PdfPages = lazyPart(async () => (await import('./pdf-pages.tsx')).PdfPages)

async function loadPdf(at: ContentLocation, signal: AbortSignal): Promise<Blob> {
  const { body } = await stowage.files.download({ ...at, signal })
  return new Response(body, { headers: { 'content-type': 'application/pdf' } }).blob()
}

/** Shows a PDF file with the viewer of the browser, which reads the title from the address of the frame. */
function PdfFrame({ link, name }: { link: string; name: string }) {
  return <iframe src={link.replace('?', () => `/${encodeURIComponent(name)}?`)} title={name} />
}

/** Draws the pages of a PDF file for browsers without a viewer, as those of phones. */
function PdfView({ at, name, size }: { at: ContentLocation; name: string; size: number | null }) {
  const isTooLarge = size === null || size > maxSize
  const { data, error, refetch } = useQuery({
    queryKey: ['pdf', at],
    queryFn: ({ signal }) => loadPdf(at, signal),
    enabled: !isTooLarge,
    gcTime: 0,
  })
  if (isTooLarge) return <p className="preview-note">{texts.pdfTooLarge(formatBytes(maxSize))}</p>
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={common.loading} />
  return (
    <Suspense fallback={<Loading label={common.loading} />}>
      <PdfPages content={data} name={name} />
    </Suspense>
  )
}
