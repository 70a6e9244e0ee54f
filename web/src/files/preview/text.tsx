import { useQuery } from '@tanstack/react-query'
import { StowageError, stowage } from '../../api/client.ts'
import type { StorageLocation } from '../../api/paths.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Loading } from '../../ui/loading.tsx'

/** Bytes. */
const maxShown = 512 * 1024

async function loadBeginning(file: StorageLocation, signal: AbortSignal): Promise<{ text: string; isAll: boolean }> {
  try {
    const { body, fileSize } = await stowage.files.download({ ...file, range: { start: 0, end: maxShown - 1 }, signal })
    const bytes = new Uint8Array(await new Response(body).arrayBuffer())
    // Streaming mode ignores a character that is cut at the end.
    const text = new TextDecoder().decode(bytes, { stream: true })
    return { text, isAll: fileSize === null ? bytes.length < maxShown : bytes.length === fileSize }
  } catch (error) {
    // An empty file has no satisfiable range.
    if (error instanceof StowageError && error.status === 416) return { text: '', isAll: true }
    throw error
  }
}

/** Shows the beginning of a text file, decoded as UTF-8. */
export function TextView({ file }: { file: StorageLocation }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['text', file],
    queryFn: ({ signal }) => loadBeginning(file, signal),
    gcTime: 0,
  })
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label="Loading" />
  return (
    <div className="preview-text">
      {!data.isAll && (
        <p className="notice">Only the first {formatBytes(maxShown)} are shown. Download the file for the rest.</p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls */}
      <pre tabIndex={0}>{data.text}</pre>
    </div>
  )
}
