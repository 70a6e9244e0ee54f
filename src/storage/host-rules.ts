/** The work that the host does around the calls of adapters that ask for it with their traits. */
import { finished, Readable } from 'node:stream'
import { orAborted, StorageError, type StorageProvider } from '../../adapters/contract.ts'
import { nameRules, withMethods, withNameRules } from '../../adapters/name-rules.ts'
import { trashFolder } from '../auth/path.ts'
import { startDeadline } from '../lib/timeout.ts'
import { fault } from './validate-entry.ts'

/** Admits a bounded number of transfers at once, in the order of their arrival. */
class TransferLimit {
  #free: number
  readonly #waiting = new Set<() => void>()
  readonly #timeout: number
  readonly #busy: () => Error

  /**
   * @param timeout milliseconds for which a transfer waits
   * @param busy makes the error after that time
   */
  constructor(max: number, timeout: number, busy: () => Error) {
    this.#free = max
    this.#timeout = timeout
    this.#busy = busy
  }

  /** Resolves, once there is room, with the function that makes room again. @throws the error of `busy`; the signal's reason */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#wait(signal)
    let isIn = true
    return () => {
      if (isIn) this.#leave()
      isIn = false
    }
  }

  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(signal)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    using deadline = startDeadline(this.#timeout, this.#busy, signal)
    try {
      await orAborted(promise, deadline.signal)
    } catch (error) {
      // The slot may have become free together with the abort.
      if (!this.#waiting.delete(resolve)) this.#leave()
      throw error
    }
  }

  #leave(): void {
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next()
    } else this.#free += 1
  }
}

/** Milliseconds for which a transfer waits for others to end. */
const usualQueueTimeout = 30_000
/** Milliseconds. */
const retryAfterMs = 5_000

/**
 * @param warn writes a line to the log
 * @param queueTimeout milliseconds
 */
export function withHostRules(
  provider: StorageProvider,
  warn: (message: string) => void,
  queueTimeout = usualQueueTimeout,
): StorageProvider {
  const { maxReads, maxWrites } = provider.traits
  const changes: Partial<StorageProvider> = {
    ...(maxReads !== undefined && withReadLimit(provider, limitOf(maxReads, 'downloads', queueTimeout))),
    ...(maxWrites !== undefined && withWriteLimit(provider, limitOf(maxWrites, 'uploads', queueTimeout))),
  }
  const limited = Object.keys(changes).length === 0 ? provider : withMethods(provider, changes)
  return withNameRules(limited, warn)
}

function limitOf(max: number, what: string, timeout: number): TransferLimit {
  const message = `This storage allows ${max} ${what} at once, and none has ended for ${timeout / 1000} seconds: try again later.`
  return new TransferLimit(max, timeout, () => new StorageError('UNAVAILABLE', message, { retryAfterMs }))
}

function withReadLimit(provider: StorageProvider, limit: TransferLimit): Partial<StorageProvider> {
  return {
    async read(path, options) {
      const leave = await limit.enter(options.signal)
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

function withWriteLimit(provider: StorageProvider, limit: TransferLimit): Partial<StorageProvider> {
  const send = <T>(body: Readable, signal: AbortSignal, work: () => Promise<T>) =>
    limit.run(signal, work).catch(error => {
      body.destroy()
      throw error
    })
  const { copy, copySmall, resumable } = provider
  const parts = resumable?.parts
  return {
    write: (path, body, options) => send(body, options.signal, () => provider.write(path, body, options)),
    ...(copy && {
      copy: (from, to, options) => limit.run(options.signal, () => copy.call(provider, from, to, options)),
    }),
    ...(copySmall && {
      copySmall: (from, to, names, options) =>
        limit.run(options.signal, () => copySmall.call(provider, from, to, names, options)),
    }),
    ...(resumable && {
      resumable: withMethods(resumable, {
        append: (state, body, options) => send(body, options.signal, () => resumable.append(state, body, options)),
        complete: (state, body, options) => send(body, options.signal, () => resumable.complete(state, body, options)),
        ...(parts && {
          parts: withMethods(parts, {
            put: (state, body, options) => send(body, options.signal, () => parts.put(state, body, options)),
          }),
        }),
      }),
    }),
  }
}

const requiredMethods = ['stat', 'list', 'read', 'write', 'delete', 'mkdir'] as const
const optionalMethods = [
  'deleteTree',
  'openFile',
  'readSmall',
  'copy',
  'copySmall',
  'move',
  'setModifiedAt',
  'quota',
  'rootId',
  'changes',
  'presign',
  'close',
] as const
const storedChecksums: ReadonlySet<unknown> = new Set(['md5', 'sha1', 'sha256'])
const resumableMethods = ['begin', 'append', 'complete', 'abort'] as const
const partMethods = ['put', 'complete'] as const
const trashMethods = ['identify', 'put', 'has', 'restore', 'remove'] as const

/** Validates what an adapter's `open` returns, as far as possible without calling it. @throws BACK_END_FAULT */
export function checkProvider(provider: StorageProvider): StorageProvider {
  if (typeof provider !== 'object' || provider === null) throw fault('no provider')
  for (const name of requiredMethods) requireFunction(name, provider[name])
  for (const name of optionalMethods) if (provider[name] !== undefined) requireFunction(name, provider[name])
  const { traits, resumable, trash } = provider
  if (typeof traits?.emptyDirectories !== 'boolean') {
    throw fault('a provider whose traits.emptyDirectories is neither true nor false')
  }
  const { storedChecksum } = traits
  if (storedChecksum !== undefined && !storedChecksums.has(storedChecksum)) {
    throw fault('a provider with an unknown traits.storedChecksum')
  }
  for (const name of ['keepsModifiedAt', 'keepsReplaced'] as const) {
    if (traits[name] !== undefined && typeof traits[name] !== 'boolean') {
      throw fault(`a provider whose traits.${name} is neither true nor false`)
    }
  }
  if (traits.maxFileSize !== undefined) requireBytes('traits.maxFileSize', traits.maxFileSize)
  for (const name of ['maxReads', 'maxWrites', 'listedTimePrecision', 'changesInterval'] as const) {
    if (traits[name] !== undefined) requireCount(`traits.${name}`, traits[name])
  }
  if (traits.listOrder !== undefined && traits.listOrder !== 'names' && traits.listOrder !== 'keys') {
    throw fault('a provider with an unknown traits.listOrder')
  }
  for (const name of ['forbiddenInNames', 'forbiddenAtEndOfNames'] as const) {
    if (traits[name] !== undefined && typeof traits[name] !== 'string') {
      throw fault(`a provider whose traits.${name} is not a text`)
    }
  }
  const { reservedNames = [] } = traits
  if (!Array.isArray(reservedNames) || !reservedNames.every(name => typeof name === 'string')) {
    throw fault('a provider whose traits.reservedNames is not a list of texts')
  }
  if (traits.singleLineNames !== undefined && typeof traits.singleLineNames !== 'boolean') {
    throw fault('a provider whose traits.singleLineNames is neither true nor false')
  }
  if (nameRules(traits)?.(trashFolder)) {
    throw fault(`a provider whose traits forbid the name "${trashFolder}", which the host uses`)
  }
  if (resumable !== undefined) {
    const { partSize, partMultiple } = resumable
    requireBytes('resumable.partSize', partSize)
    if (partMultiple !== undefined) requireBytes('resumable.partMultiple', partMultiple)
    if (partSize % (partMultiple ?? partSize) !== 0) {
      throw fault('a provider whose resumable.partSize is no multiple of its resumable.partMultiple')
    }
    if (resumable.maxAppends !== undefined) requireCount('resumable.maxAppends', resumable.maxAppends)
    for (const name of resumableMethods) requireFunction(`resumable.${name}`, resumable[name])
    const { parts } = resumable
    if (parts !== undefined) {
      requireBytes('resumable.parts.minSize', parts.minSize)
      for (const name of partMethods) requireFunction(`resumable.parts.${name}`, parts[name])
    }
  }
  if (trash !== undefined) for (const name of trashMethods) requireFunction(`trash.${name}`, trash[name])
  return provider
}

function requireFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw fault(`a provider whose ${name} is not a function`)
}

function requireBytes(name: string, value: unknown): void {
  if (!Number.isSafeInteger(value) || Number(value) <= 0)
    throw fault(`a provider whose ${name} is not a positive number of bytes`)
}

function requireCount(name: string, value: unknown): void {
  if (!Number.isSafeInteger(value) || Number(value) <= 0)
    throw fault(`a provider whose ${name} is not a positive number`)
}
