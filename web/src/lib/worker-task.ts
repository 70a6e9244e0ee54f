/**
 * Gives a task to a new worker, and ends the worker with the task, so that long work never stops the page.
 * @throws if the worker fails, and the reason of the signal
 */
export function runInWorker<Result>(worker: Worker, task: unknown, signal: AbortSignal): Promise<Result> {
  return new Promise<Result>((resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason))
    worker.addEventListener('error', reject)
    worker.addEventListener('message', ({ data }: MessageEvent<Result>) => resolve(data))
    worker.postMessage(task)
  }).finally(() => worker.terminate())
}
