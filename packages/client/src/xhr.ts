/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * Sends a request in a browser and reports the progress of its body, which `fetch` does not. Cookies are sent to the origin of
 * the page.
 * @throws TypeError if no response arrives, and the reason of the signal
 */
export function sendWithProgress(
  url: string,
  { method, headers, body, signal }: { method: string; headers: Headers; body: Blob; signal: AbortSignal | undefined },
  onSent: (bytes: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const request = new XMLHttpRequest()
    const onAbort = () => request.abort()
    signal?.addEventListener('abort', onAbort)
    request.open(method, url)
    for (const [name, value] of headers) request.setRequestHeader(name, value)
    request.responseType = 'blob'
    request.upload.addEventListener('progress', ({ loaded }) => onSent(loaded))
    request.addEventListener('load', () => resolve(responseOf(request)))
    request.addEventListener('error', () => reject(new TypeError('The request failed.')))
    request.addEventListener('abort', () => reject(signal?.reason))
    request.addEventListener('loadend', () => signal?.removeEventListener('abort', onAbort))
    request.send(body)
  })
}

/** Statuses of responses that must not have a body. */
const bodyless = new Set([204, 205, 304])

function responseOf(request: XMLHttpRequest): Response {
  const lines = request.getAllResponseHeaders().split('\r\n').filter(Boolean)
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  const { status } = request
  return new Response(bodyless.has(status) ? null : (request.response as Blob), { status, headers })
}
