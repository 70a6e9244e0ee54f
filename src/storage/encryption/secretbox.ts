/**
 * NaCl's secretbox: XSalsa20 and Poly1305. libsodium does 1.2 GB/s, which is too fast for a message to another thread to be worth it. Where
 * it has no build for the system, `@noble/ciphers` does 150 MB/s in JavaScript.
 */

/** Bytes in front of the encrypted bytes that authenticate them. */
export const tagBytes = 16
export const nonceBytes = 24

export interface Secretbox {
  /** Encrypts in place the bytes after the first `tagBytes`, which it overwrites. */
  seal(bytes: Buffer, nonce: Buffer, key: Buffer): void
  /**
   * Decrypts the bytes after the first `tagBytes` into `content`, which has as many bytes and may overlap them. Returns false if they are
   * damaged.
   */
  open(bytes: Buffer, content: Buffer, nonce: Buffer, key: Buffer): boolean
}

/** Loads the fastest implementation that runs on this system. */
export async function loadSecretbox(): Promise<Secretbox> {
  return await nativeSecretbox().catch(() => portableSecretbox())
}

/** @throws where `sodium-native` is not installed, or has no build for the system */
export async function nativeSecretbox(): Promise<Secretbox> {
  const { default: sodium } = await import('sodium-native')
  return {
    seal(bytes, nonce, key) {
      sodium.crypto_secretbox_easy(bytes, bytes.subarray(tagBytes), nonce, key)
    },
    open: (bytes, content, nonce, key) => sodium.crypto_secretbox_open_easy(content, bytes, nonce, key),
  }
}

export async function portableSecretbox(): Promise<Secretbox> {
  const { xsalsa20poly1305 } = await import('@noble/ciphers/salsa.js')
  return {
    seal(bytes, nonce, key) {
      bytes.set(xsalsa20poly1305(key, nonce).encrypt(bytes.subarray(tagBytes)))
    },
    open(bytes, content, nonce, key) {
      try {
        content.set(xsalsa20poly1305(key, nonce).decrypt(bytes))
        return true
      } catch {
        return false
      }
    },
  }
}
