import { useQuery } from '@tanstack/react-query'
import { send, toError } from '../../api/request.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Loading } from '../../ui/loading.tsx'

/** Bytes that are shown. */
const most = 512 * 1024

async function beginning(link: string, signal: AbortSignal): Promise<{ text: string; isAll: boolean }> {
  const answer = await send(link, { headers: { Range: `bytes=0-${most - 1}` }, signal })
  // An empty file has no range.
  if (answer.status === 416) return { text: '', isAll: true }
  if (!answer.ok) throw toError(answer, await answer.json().catch(() => null))
  const bytes = await upTo(answer, most)
  const total = Number(answer.headers.get('Content-Range')?.split('/')[1] ?? answer.headers.get('Content-Length'))
  // What is cut may end within a character.
  const text = new TextDecoder().decode(bytes, { stream: true })
  return { text, isAll: !(total > bytes.length) }
}

/** A back end without ranges sends all of it. */
async function upTo(answer: Response, bound: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(bound)
  let length = 0
  const reader = answer.body?.getReader()
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

/** The beginning of a text, as UTF-8. */
export function TextView({ link }: { link: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['text', link],
    queryFn: ({ signal }) => beginning(link, signal),
    gcTime: 0,
  })
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label="Reading" />
  return (
    <div className="preview-text">
      {!data.isAll && (
        <p className="notice">The first {formatBytes(most)} are shown: download the file for the rest.</p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <pre tabIndex={0}>{data.text}</pre>
    </div>
  )
}
