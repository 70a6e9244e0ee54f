import type { KeyObject } from 'node:crypto'
import type { Signature } from './signature.ts'
import { deriveSigningKey } from './verify.ts'

const maxRemembered = 1000

/**
 * Derives signing keys, each of which is valid for one access key, date and region. It caches them, because deriving a key takes
 * several digests and a client uses the same key for all its requests of a day. An entry cannot become stale, because the secrets
 * of an access key do not change while the server runs.
 */
export class SigningKeys {
  readonly #remembered = new Map<string, readonly KeyObject[]>()

  /**
   * Returns what `verify` returns. The keys are cached only if it does not throw, so a client that does not know a secret cannot
   * fill the cache.
   * @param secrets returns the secrets of the access key. It is called only if the signing keys are not in the cache
   * @param verify receives one signing key for each secret
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
