/** Everything that is derived from STOWAGE_SECRET: one key for each purpose, so that none can stand in for another. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

export type Purpose = 'session' | 'credentials' | 'download-link' | 'cursor'

export interface Secrets {
  /** 32 bytes. */
  key(purpose: Purpose): Buffer
  /** Encrypts with AES-256-GCM, bound to `context`; the key's id stands in front, so that the secret can be rotated. */
  seal(plain: string, context: string): Buffer
  /** @throws SecretMismatch where the text was sealed with another secret, for another context, or was altered */
  open(sealed: Buffer, context: string): string
  /** Text that only this server's secret can have made; readable, not secret. `context` is bound but not contained. */
  sign(purpose: Purpose, payload: string, context?: string): string
  /** The payload, or null where the signature does not hold. */
  verify(purpose: Purpose, signed: string, context?: string): string | null
}

export class SecretMismatch extends Error {}

const keyIdBytes = 4
const ivBytes = 12
const tagBytes = 16
/** 128 bits. */
const macBytes = 16

export function deriveSecrets(secret: string): Secrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'stowage', purpose, 32))
  const keys: Record<Purpose, Buffer> = {
    session: derive('session'),
    credentials: derive('credentials'),
    'download-link': derive('download-link'),
    cursor: derive('cursor'),
  }
  const keyId = createHash('sha256').update(keys.credentials).digest().subarray(0, keyIdBytes)
  const mac = (purpose: Purpose, payload: string, context: string) =>
    createHmac('sha256', keys[purpose])
      .update(JSON.stringify([payload, context]))
      .digest()
      .subarray(0, macBytes)

  return {
    key: purpose => keys[purpose],

    seal(plain, context) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', keys.credentials, iv).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([keyId, iv, cipher.getAuthTag(), body])
    },

    open(sealed, context) {
      if (!sealed.subarray(0, keyIdBytes).equals(keyId)) {
        throw new SecretMismatch('These credentials were stored under another STOWAGE_SECRET.')
      }
      const iv = sealed.subarray(keyIdBytes, keyIdBytes + ivBytes)
      const tag = sealed.subarray(keyIdBytes + ivBytes, keyIdBytes + ivBytes + tagBytes)
      try {
        const decipher = createDecipheriv('aes-256-gcm', keys.credentials, iv, { authTagLength: tagBytes })
        decipher.setAAD(Buffer.from(context)).setAuthTag(tag)
        const body = sealed.subarray(keyIdBytes + ivBytes + tagBytes)
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
      } catch (cause) {
        throw new SecretMismatch('These stored credentials were altered.', { cause })
      }
    },

    sign(purpose, payload, context = '') {
      return `${Buffer.from(payload).toString('base64url')}.${mac(purpose, payload, context).toString('base64url')}`
    },

    verify(purpose, signed, context = '') {
      const [encoded, signature, ...rest] = signed.split('.')
      if (encoded === undefined || signature === undefined || rest.length > 0) return null
      const payload = Buffer.from(encoded, 'base64url').toString('utf8')
      const given = Buffer.from(signature, 'base64url')
      const expected = mac(purpose, payload, context)
      return given.length === expected.length && timingSafeEqual(given, expected) ? payload : null
    },
  }
}
