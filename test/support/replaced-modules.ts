/**
 * Replaces three modules in every test file, into which `.taprc` loads it.
 *
 * One is the module by which tap finds the test that caused an uncaught error. That module observes every promise, which takes
 * a quarter of the CPU time of a test with a server. With this one an uncaught error fails the whole file, with its stack.
 *
 * Another one is `tcompare`, by which tap compares values: see quick-compare.ts.
 *
 * The last one is `argon2`, except in the files about the cost of sign-ins: see cheap-passwords.ts.
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

// tap switches source maps on, which costs time with each error and each compiled schema. Nothing here has one: Node strips the
// types and keeps the positions.
process.setSourceMapsEnabled(false)

const quickCompare = new URL('quick-compare.ts', import.meta.url).href
const cheapPasswords = new URL('cheap-passwords.ts', import.meta.url).href
/** The files whose servers hash passwords at the real cost. */
const atRealCost = ['services/accounts', 'services/interrupted', 'services/sign-in-queue', 'http/memory']
const hashesCheaply = !atRealCost.some(name => process.argv[1]?.endsWith(`/test/${name}.test.ts`))

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'async-hook-domain') return next(import.meta.url, context)
    if (specifier === 'tcompare' && context.parentURL !== quickCompare) return next(quickCompare, context)
    if (hashesCheaply && specifier === 'argon2' && context.parentURL !== cheapPasswords)
      return next(cheapPasswords, context)
    return next(specifier, context)
  },
})
