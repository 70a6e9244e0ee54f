/** The work that the host does around the calls of adapters that ask for it with their traits. */
import { finished, Readable } from 'node:stream'
import { StorageError, type StoragePath, type StorageProvider } from '../../adapters/contract.ts'
import { Lane } from './lane.ts'
import { providerMethods } from './validate-provider.ts'

/** Milliseconds for which a transfer waits for others to end. */
export const usualLaneTimeout = 30_000
/** Milliseconds. */
const retryAfterMs = 5_000

/** @param laneTimeout milliseconds */
export function withHostRules(provider: StorageProvider, laneTimeout = usualLaneTimeout): StorageProvider {
  const { maxReads, maxWrites, singleLineNames } = provider.traits
  const changes: Partial<StorageProvider> = {
    ...(maxReads !== undefined && readsInTurn(provider, laneOf(maxReads, 'downloads', laneTimeout))),
    ...(maxWrites !== undefined && writesInTurn(provider, laneOf(maxWrites, 'uploads', laneTimeout))),
  }
  const inTurn = Object.keys(changes).length === 0 ? provider : changed(provider, changes)
  return singleLineNames ? withSingleLines(inTurn) : inTurn
}

function laneOf(max: number, what: string, timeout: number): Lane {
  const message = `This storage allows ${max} ${what} at once, and none has ended for ${timeout / 1000} seconds: try again later.`
  return new Lane(max, timeout, () => new StorageError('UNAVAILABLE', message, { retryAfterMs }))
}

function readsInTurn(provider: StorageProvider, lane: Lane): Partial<StorageProvider> {
  return {
    async read(path, options) {
      const leave = await lane.enter(options.signal)
      try {
        const result = await provider.read(path, options)
        if (result?.body instanceof Readable) finished(result.body, { writable: false }, leave)
        else leave()
        return result
      } catch (error) {
        leave()
        throw error
      }
    },
  }
}

function writesInTurn(provider: StorageProvider, lane: Lane): Partial<StorageProvider> {
  const send = <T>(body: Readable, signal: AbortSignal, work: () => Promise<T>) =>
    lane.run(signal, work).catch(error => {
      body.destroy()
      throw error
    })
  const { copy, copySmall, resumable } = provider
  const parts = resumable?.parts
  return {
    write: (path, body, options) => send(body, options.signal, () => provider.write(path, body, options)),
    ...(copy && {
      copy: (from, to, options) => lane.run(options.signal, () => copy.call(provider, from, to, options)),
    }),
    ...(copySmall && {
      copySmall: (from, to, names, options) =>
        lane.run(options.signal, () => copySmall.call(provider, from, to, names, options)),
    }),
    ...(resumable && {
      resumable: changed(resumable, {
        append: (state, body, options) => send(body, options.signal, () => resumable.append(state, body, options)),
        complete: (state, body, options) => send(body, options.signal, () => resumable.complete(state, body, options)),
        ...(parts && {
          parts: changed(parts, {
            put: (state, body, options) => send(body, options.signal, () => parts.put(state, body, options)),
          }),
        }),
      }),
    }),
  }
}

/** The methods without a path. Each other one is checked. */
const methodsWithoutPath: ReadonlySet<string> = new Set(['quota', 'close'])

function withSingleLines(provider: StorageProvider): StorageProvider {
  const { resumable, trash } = provider
  const checked =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      try {
        // Only paths are strings: all other arguments are options and bodies.
        for (const path of args) if (typeof path === 'string') requireSingleLine(path as StoragePath)
      } catch (error) {
        for (const body of args) if (body instanceof Readable) body.destroy()
        throw error
      }
      return await call(...args)
    }
  const methods = providerMethods.flatMap(name => {
    if (methodsWithoutPath.has(name)) return []
    const method = provider[name] as ((...args: unknown[]) => Promise<unknown>) | undefined
    return method ? [[name, checked(method.bind(provider))]] : []
  })
  return changed(provider, {
    ...Object.fromEntries(methods),
    ...(resumable && {
      resumable: changed(resumable, { begin: checked(resumable.begin.bind(resumable)) }),
    }),
    ...(trash && {
      trash: changed(trash, {
        identify: checked(trash.identify.bind(trash)),
        restore: checked(trash.restore.bind(trash)),
      }),
    }),
  })
}

function requireSingleLine(path: StoragePath): void {
  if (!/[\r\n]/.test(path)) return
  throw new StorageError('INVALID_PATH', 'This storage cannot have names with line breaks: choose another name.')
}

/** Returns the object with other methods. Methods of classes keep their own `this`. */
function changed<T extends object>(object: T, changes: Partial<T>): T {
  return new Proxy(object, {
    get(target, name) {
      if (name in changes) return Reflect.get(changes, name)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
