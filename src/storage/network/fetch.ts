import type { ClosedAddress, Guard } from './guard.ts'

interface Dispatcher {
  dispatch(options: { origin?: string | URL }, handler: unknown): boolean
}
type DispatcherClass = new (options: { connect: { lookup: Guard['lookup'] } }) => Dispatcher

/** Where undici, which is behind Node's `fetch`, keeps the dispatcher that all copies of it share. */
const shared = Symbol.for('undici.globalDispatcher.1')

/** The global `fetch` over guarded connections; redirects, too, come back to them. */
export function guardedFetch(guard: Guard): typeof fetch {
  let dispatcher: Promise<Dispatcher> | undefined
  return async (input, init) => {
    dispatcher ??= createDispatcher(guard)
    const options: RequestInit & { dispatcher: Dispatcher } = { ...init, dispatcher: await dispatcher }
    return await fetch(input, options)
  }
}

/** @throws Error where this version of Node keeps it elsewhere: no way out is better than an open one */
async function createDispatcher(guard: Guard): Promise<Dispatcher> {
  // Node loads undici with the first use of `fetch`.
  await fetch('data:,')
  const Agent = (Reflect.get(globalThis, shared) as Dispatcher | undefined)?.constructor as DispatcherClass | undefined
  if (!Agent) throw new Error('This version of Node does not say how its fetch connects.')

  class GuardedAgent extends Agent {
    override dispatch(options: { origin?: string | URL }, handler: unknown): boolean {
      const refusal = refusalOf(options.origin)
      if (refusal) throw refusal
      return super.dispatch(options, handler)
    }
  }
  return new GuardedAgent({ connect: { lookup: guard.lookup } })

  /** Of addresses, which no `lookup` is called for. */
  function refusalOf(origin: string | URL | undefined): ClosedAddress | null {
    const { hostname } = new URL(origin ?? '')
    return guard.refusal(hostname.replace(/^\[|\]$/g, ''))
  }
}
