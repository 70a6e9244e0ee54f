import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { send, toError } from '../../api/request.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Loading } from '../../ui/loading.tsx'

/** Bytes: it is held whole, as the server's own answer may not be framed. */
const most = 100 * 1024 * 1024

async function whole(link: string, signal: AbortSignal): Promise<Blob> {
  const answer = await send(link, { signal })
  if (!answer.ok) throw toError(answer, await answer.json().catch(() => null))
  return new Blob([await answer.arrayBuffer()], { type: 'application/pdf' })
}

/** By the browser's own viewer. */
export function PdfView({ link, name, size }: { link: string; name: string; size: number | null }) {
  const isTooLarge = size === null || size > most
  const { data, error, refetch } = useQuery({
    queryKey: ['pdf', link],
    queryFn: ({ signal }) => whole(link, signal),
    enabled: !isTooLarge && navigator.pdfViewerEnabled,
    gcTime: 0,
  })
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    if (!data) return
    const made = URL.createObjectURL(data)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [data])
  if (!navigator.pdfViewerEnabled) {
    return <p className="preview-note">This browser shows no PDF files in a page: download it instead.</p>
  }
  if (isTooLarge) return <p className="preview-note">Over {formatBytes(most)}: download it to read it.</p>
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!url) return <Loading label="Reading" />
  return <iframe src={url} title={name} />
}
