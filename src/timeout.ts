import { orAborted } from '../adapters/contract.ts'

/** A signal that aborts after a time, unless the deadline is disposed of first. */
interface Deadline extends Disposable {
  readonly signal: AbortSignal
}

/** @param makeError returns the reason of the abort */
function startDeadline(milliseconds: number, makeError: () => Error): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(makeError()), milliseconds)
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Settles as `work` does. After the timeout only the wait ends, and `work` continues. @throws the result of `makeError` */
export async function withTimeout<T>(work: Promise<T>, milliseconds: number, makeError: () => Error): Promise<T> {
  using deadline = startDeadline(milliseconds, makeError)
  return await orAborted(work, deadline.signal)
}
