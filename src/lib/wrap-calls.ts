/** A function of an object, with any arguments. */
export type AnyCall = (...args: unknown[]) => unknown

/**
 * Returns the object with each of its functions replaced by what `wrap` makes of it, once per function. Everything else
 * stays the same.
 */
export function wrapCalls<T extends object>(object: T, wrap: (name: string, call: AnyCall) => AnyCall): T {
  const wrapped = new Map<string, AnyCall>()
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      const known = wrapped.get(name) ?? wrap(name, value.bind(target))
      wrapped.set(name, known)
      return known
    },
  })
}
