/**
 * Runs `work` under a signal that aborts only `time` ms after `signal` has. A part that the server has got whole it stores
 * in any case, and where that comes after its upload was given up, the part belongs to nothing and stays for ever (so
 * with Ceph 16; Amazon says that such an upload may have to be given up again). So its answer is waited for.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
 */
export async function withGrace<T>(
  signal: AbortSignal,
  time: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const cut = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const onAbort = () => {
    timer = setTimeout(() => cut.abort(signal.reason), time)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await work(cut.signal)
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}
