import type { KeyObject } from 'node:crypto'
import type { Signature } from './signature.ts'
import { deriveSigningKey } from './verify.ts'

const maxRemembered = 1000

/**
 * Derives the keys that sign for a day and a region. It remembers them, because deriving one takes several digests, and most
 * requests come from few programs. The secrets of an access key never change.
 */
export class SigningKeys {
  readonly #remembered = new Map<string, readonly KeyObject[]>()

  /**
   * Returns what `verify` returns. If it throws, nothing is remembered, so only programs that know a secret take up memory.
   * @param secrets derives the secrets of the access key. Called only if its keys are not remembered
   * @param verify takes one key for each secret
   */
  use<T>(
    signature: Pick<Signature, 'accessKeyId' | 'scope'>,
    secrets: () => readonly string[],
    verify: (signingKeys: readonly KeyObject[]) => T,
  ): T {
    const { accessKeyId, scope } = signature
    const name = `${accessKeyId}/${scope.date}/${scope.region}`
    const remembered = this.#remembered.get(name)
    if (remembered) return verify(remembered)
    const keys = secrets().map(secret => deriveSigningKey(secret, signature))
    const verified = verify(keys)
    const [oldest] = this.#remembered.keys()
    if (this.#remembered.size >= maxRemembered && oldest !== undefined) this.#remembered.delete(oldest)
    this.#remembered.set(name, keys)
    return verified
  }
}
