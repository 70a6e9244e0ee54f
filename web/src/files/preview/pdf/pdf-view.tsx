import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { stowage } from '../../../api/client.ts'
import { loadPart } from '../../../api/load-part.ts'
import type { StorageLocation } from '../../../api/paths.ts'
import { common } from '../../../texts/common.ts'
import { texts } from '../../../texts/files.tsx'
import { formatBytes } from '../../../texts/format.ts'
import { ErrorBox } from '../../../ui/error-box.tsx'
import { Loading } from '../../../ui/loading.tsx'

/** Bytes. The file is loaded into memory. */
const maxSize = 100 * 1024 * 1024

const PdfPages = lazy(async () => ({ default: (await loadPart(import('./pdf-pages.tsx'))).PdfPages }))

async function loadPdf(file: StorageLocation, signal: AbortSignal): Promise<Blob> {
  const { body } = await stowage.files.download({ ...file, signal })
  return new Response(body, { headers: { 'content-type': 'application/pdf' } }).blob()
}

/** Shows a PDF file with the viewer of the browser, which reads the title from the address of the frame. */
export function PdfFrame({ link, name }: { link: string; name: string }) {
  return <iframe src={link.replace('?', () => `/${encodeURIComponent(name)}?`)} title={name} />
}

/** Draws the pages of a PDF file for browsers without a viewer, as those of phones. */
export function PdfView({ file, name, size }: { file: StorageLocation; name: string; size: number | null }) {
  const isTooLarge = size === null || size > maxSize
  const { data, error, refetch } = useQuery({
    queryKey: ['pdf', file],
    queryFn: ({ signal }) => loadPdf(file, signal),
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
