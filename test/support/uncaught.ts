/**
 * Replaces the module by which tap finds the test that caused an uncaught error. That module observes every promise, which
 * takes a quarter of the CPU time of a test with a server. With this one an uncaught error fails the whole file, with its
 * stack. `.taprc` loads it into every test.
 */
import { registerHooks } from 'node:module'

type OnError = (error: unknown, origin: string) => void

const open = new Set<Domain>()

function failFirst(error: unknown): void {
  const [wholeFile] = open
  wholeFile?.onerror(error, 'uncaughtException')
}

/** Has the interface of the class with this name in `async-hook-domain`. */
export class Domain {
  readonly onerror: OnError

  constructor(onerror: OnError) {
    this.onerror = onerror
    if (open.size === 0) process.setUncaughtExceptionCaptureCallback(failFirst)
    open.add(this)
  }

  destroy(): void {
    open.delete(this)
    if (open.size === 0) process.setUncaughtExceptionCaptureCallback(null)
  }
}

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'async-hook-domain' ? import.meta.url : specifier, context),
})
