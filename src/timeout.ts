import { orAborted } from '../adapters/contract.ts'

/** A signal that aborts after a time, unless it is disposed of before. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal
}

/** @param makeError returns the reason of the abort */
export function startDeadline(milliseconds: number, makeError: () => Error): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(makeError()), milliseconds)
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Settles as `work` does. Ends only the wait after the timeout: `work` continues. @throws the result of `makeError` */
export async function withTimeout<T>(work: Promise<T>, milliseconds: number, makeError: () => Error): Promise<T> {
  using deadline = startDeadline(milliseconds, makeError)
  return await orAborted(work, deadline.signal)
}
