import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { stowage } from '../../api/client.ts'
import type { StorageLocation } from '../../api/paths.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'

/** Bytes. The file is loaded into memory, because the server forbids frames of its own responses. */
const maxSize = 100 * 1024 * 1024

async function loadPdf(file: StorageLocation, signal: AbortSignal): Promise<Blob> {
  const { body } = await stowage.files.download({ ...file, signal })
  return new Response(body, { headers: { 'content-type': 'application/pdf' } }).blob()
}

/** Shows a PDF file with the viewer of the browser. */
export function PdfView({ file, name, size }: { file: StorageLocation; name: string; size: number | null }) {
  const isTooLarge = size === null || size > maxSize
  const { data, error, refetch } = useQuery({
    queryKey: ['pdf', file],
    queryFn: ({ signal }) => loadPdf(file, signal),
    enabled: !isTooLarge && navigator.pdfViewerEnabled,
    gcTime: 0,
  })
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    if (!data) return
    const objectUrl = URL.createObjectURL(data)
    setUrl(objectUrl)
    return () => URL.revokeObjectURL(objectUrl)
  }, [data])
  if (!navigator.pdfViewerEnabled) {
    return <p className="preview-note">{texts.pdfUnsupported}</p>
  }
  if (isTooLarge) return <p className="preview-note">{texts.pdfTooLarge(formatBytes(maxSize))}</p>
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!url) return <Loading label={common.loading} />
  return <iframe src={url} title={name} />
}
