import { orAborted } from '../../adapters/contract.ts'

/** A signal that also aborts when another one does, until it is disposed of. */
export interface Follower extends Disposable {
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/** Cheaper than `AbortSignal.any`, which leaves its signals to the garbage collector. */
export function followSignal(followed: AbortSignal | undefined): Follower {
  const controller = new AbortController()
  const follow = () => controller.abort(followed?.reason)
  if (followed?.aborted) follow()
  else followed?.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    abort: reason => controller.abort(reason),
    [Symbol.dispose]: () => followed?.removeEventListener('abort', follow),
  }
}

/** A signal that aborts after a time, unless the deadline is disposed of first. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal
}

/**
 * @param makeError returns the reason of the abort
 * @param followed another signal that aborts the deadline, with its own reason
 */
export function startDeadline(milliseconds: number, makeError: () => Error, followed?: AbortSignal): Deadline {
  const follower = followSignal(followed)
  const timer = setTimeout(() => follower.abort(makeError()), milliseconds)
  return {
    signal: follower.signal,
    [Symbol.dispose]() {
      clearTimeout(timer)
      follower[Symbol.dispose]()
    },
  }
}

/** Settles as `work` does. After the timeout only the wait ends, and `work` continues. @throws the result of `makeError` */
export async function withTimeout<T>(work: Promise<T>, milliseconds: number, makeError: () => Error): Promise<T> {
  using deadline = startDeadline(milliseconds, makeError)
  return await orAborted(work, deadline.signal)
}
