/** A function of an object, with any arguments. */
export type AnyCall = (...args: unknown[]) => unknown

/**
 * Returns the object with each of its functions replaced by what `observe` makes of it, once per function. Everything else
 * stays the same.
 */
export function withObservedCalls<T extends object>(object: T, observe: (name: string, call: AnyCall) => AnyCall): T {
  const calls = new Map<string, AnyCall>()
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      const known = calls.get(name) ?? observe(name, value.bind(target))
      calls.set(name, known)
      return known
    },
  })
}
