import { pipeline, type Readable, Transform } from 'node:stream'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'

/** Pauses a read from a provider at a chosen byte, so that a test can interrupt it there. */
export class Brake {
  #next: { bytes: number; reached: () => void } | undefined

  /** Pauses the next body after `bytes` bytes. Resolves when the body has reached this position. */
  holdAt(bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#next = { bytes, reached: resolve }
    return promise
  }

  /** Wraps an adapter so that its providers read through this brake. */
  on(definition: AdapterDefinition): AdapterDefinition {
    return { ...definition, open: async (...parameters) => this.#wrap(await definition.open(...parameters)) }
  }

  #wrap(provider: StorageProvider): StorageProvider {
    const read: StorageProvider['read'] = async (...parameters) => {
      const result = await provider.read(...parameters)
      return { ...result, body: this.#through(result.body) }
    }
    return new Proxy(provider, {
      get(target, name) {
        if (name === 'read') return read
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  #through(body: Readable): Readable {
    const stop = this.#next
    if (!stop) return body
    this.#next = undefined
    let passed = 0
    const gate = new Transform({
      transform(piece: Buffer, _encoding, done) {
        passed += piece.length
        if (passed <= stop.bytes) return done(null, piece)
        // The callback is never called, so the stream pauses until it is destroyed.
        stop.reached()
      },
    })
    return pipeline(body, gate, () => {})
  }
}
