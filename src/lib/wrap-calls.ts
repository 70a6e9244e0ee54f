/** A function of an object, with any arguments. */
export type AnyCall = (...args: unknown[]) => unknown

/**
 * Returns a view of the object that has the result of `wrap` in place of each function. Each function is wrapped once. Everything
 * else stays the same.
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
