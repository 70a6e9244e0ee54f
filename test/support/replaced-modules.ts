/**
 * Replaces three modules in every test file, into which `.taprc` loads it.
 *
 * One is the module by which tap finds the test that caused an uncaught error. That module observes every promise, which takes
 * a quarter of the CPU time of a test with a server. With this one an uncaught error fails the whole file, with its stack.
 *
 * Another one is `tcompare`, by which tap compares values: see quick-compare.ts.
 *
 * The last one is `argon2`, except in the files about the cost of sign-ins: see cheap-passwords.ts.
 *
 * It also resolves relative imports between ECMAScript modules of the same package itself: a server has a thousand modules, and Node
 * looks for each file, its real path and its package.json, which takes a third of the processor time of loading them.
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
const atRealCost = [
  'services/accounts',
  'services/interrupted',
  'services/sign-in-queue',
  'http/memory',
  '_together/passwords',
]
const hashesCheaply = !atRealCost.some(name => process.argv[1]?.endsWith(`/test/${name}.test.ts`))

const root = new URL('../../', import.meta.url).href
const ownSources = /^(?:src|adapters|migrations|test|packages\/c\w+\/src)\/(?!template\/)/
/** Packages whose ECMAScript modules import only such modules of their own. */
const pure = /^node_modules\/(?:kysely|graphql-scalars|@pothos\/[a-z-]+)\//
/** The ECMAScript modules of these packages. */
const known = new Set<string>()

/** Returns the module of a relative import, without looking for it; null where Node has to. */
function resolveRelative(specifier: string, parent: string): { url: string; format: string } | null {
  if (!specifier.startsWith('.') || !parent.startsWith(root)) return null
  const { href: url } = new URL(specifier, parent)
  if (url.endsWith('.ts')) {
    const isOwn = ownSources.test(parent.slice(root.length)) && ownSources.test(url.slice(root.length))
    return isOwn ? { url, format: 'module-typescript' } : null
  }
  if (!url.endsWith('.js') || !known.has(parent)) return null
  known.add(url)
  return { url, format: 'module' }
}

registerHooks({
  resolve(specifier, context, next) {
    const relative = resolveRelative(specifier, context.parentURL ?? '')
    if (relative) return { ...relative, shortCircuit: true }
    if (specifier === 'async-hook-domain') return next(import.meta.url, context)
    if (specifier === 'tcompare' && context.parentURL !== quickCompare) return next(quickCompare, context)
    if (hashesCheaply && specifier === 'argon2' && context.parentURL !== cheapPasswords)
      return next(cheapPasswords, context)
    const resolved = next(specifier, context)
    if (resolved.format === 'module' && pure.test(resolved.url.slice(root.length))) known.add(resolved.url)
    return resolved
  },
})
