import { useQuery } from '@tanstack/react-query'
import { send, toError } from '../../api/request.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Loading } from '../../ui/loading.tsx'

/** Bytes. */
const maxShown = 512 * 1024

async function loadBeginning(link: string, signal: AbortSignal): Promise<{ text: string; isAll: boolean }> {
  const response = await send(link, { headers: { Range: `bytes=0-${maxShown - 1}` }, signal })
  // An empty file has no satisfiable range.
  if (response.status === 416) return { text: '', isAll: true }
  if (!response.ok) throw toError(response, await response.json().catch(() => null))
  const bytes = await readUpTo(response, maxShown)
  const total = Number(response.headers.get('Content-Range')?.split('/')[1] ?? response.headers.get('Content-Length'))
  // Streaming mode ignores a character that is cut at the end.
  const text = new TextDecoder().decode(bytes, { stream: true })
  return { text, isAll: !(total > bytes.length) }
}

/** Reads at most `bound` bytes, because a back end without ranges sends the whole file. */
async function readUpTo(response: Response, bound: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(bound)
  let length = 0
  const reader = response.body?.getReader()
  for (let read = await reader?.read(); reader && read?.value; read = await reader.read()) {
    const part = read.value.subarray(0, bound - length)
    bytes.set(part, length)
    length += part.length
    if (length === bound) {
      await reader.cancel()
      break
    }
  }
  return bytes.subarray(0, length)
}

/** Shows the beginning of a text file, decoded as UTF-8. */
export function TextView({ link }: { link: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['text', link],
    queryFn: ({ signal }) => loadBeginning(link, signal),
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
