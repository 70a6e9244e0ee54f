import type { ClosedAddress, Guard } from './guard.ts'

interface Dispatcher {
  dispatch(options: { origin?: string | URL }, handler: unknown): boolean
}
type DispatcherClass = new (options: { connect: { lookup: Guard['lookup'] } }) => Dispatcher

/** The key under which undici, the implementation of Node's `fetch`, stores its global dispatcher. */
const shared = Symbol.for('undici.globalDispatcher.1')

/** Returns a `fetch` over guarded connections. Each redirect is checked, too. */
export function guardedFetch(guard: Guard): typeof fetch {
  let dispatcher: Promise<Dispatcher> | undefined
  return async (input, init) => {
    dispatcher ??= createDispatcher(guard)
    const options: RequestInit & { dispatcher: Dispatcher } = { ...init, dispatcher: await dispatcher }
    return await fetch(input, options)
  }
}

/** @throws Error if this version of Node stores the dispatcher elsewhere: an unguarded `fetch` must not run */
async function createDispatcher(guard: Guard): Promise<Dispatcher> {
  // Node loads undici with the first use of `fetch`.
  await fetch('data:,')
  const Agent = (Reflect.get(globalThis, shared) as Dispatcher | undefined)?.constructor as DispatcherClass | undefined
  if (!Agent) throw new Error('This version of Node does not show how its fetch connects.')

  class GuardedAgent extends Agent {
    override dispatch(options: { origin?: string | URL }, handler: unknown): boolean {
      const refusal = refusalOf(options.origin)
      if (refusal) throw refusal
      return super.dispatch(options, handler)
    }
  }
  return new GuardedAgent({ connect: { lookup: guard.lookup } })

  /** Checks hosts that are addresses: Node calls no `lookup` for them. */
  function refusalOf(origin: string | URL | undefined): ClosedAddress | null {
    const { hostname } = new URL(origin ?? '')
    return guard.refusal(hostname.replace(/^\[|\]$/g, ''))
  }
}
