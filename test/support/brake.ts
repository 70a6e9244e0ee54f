import { pipeline, type Readable, Transform } from 'node:stream'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'

/** Stops what reads from a provider at a chosen byte, so that a test can interrupt it exactly there. */
export class Brake {
  #next: { bytes: number; reached: () => void } | undefined

  /** The next body that is read gives no byte from this one on. Resolves once it stands there. */
  holdAt(bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#next = { bytes, reached: resolve }
    return promise
  }

  /** The same adapter, whose providers read through this brake. */
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
        // Never done: it ends when it is destroyed.
        stop.reached()
      },
    })
    return pipeline(body, gate, () => {})
  }
}
