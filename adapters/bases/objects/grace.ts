/**
 * Runs `work` under a signal that aborts `time` ms after `signal`, so that `work` can receive the response to a part
 * that is already sent. A server may store such a part after the upload was aborted. In Ceph 16 it then stays forever,
 * and at Amazon the upload has to be aborted again:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
 */
export async function withGrace<T>(
  signal: AbortSignal,
  time: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const onAbort = () => {
    timer = setTimeout(() => late.abort(signal.reason), time)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await work(late.signal)
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}
