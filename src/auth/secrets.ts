/**
 * Derives one key per purpose from STOWAGE_SECRET, so that a value made for one purpose is invalid for another. The current
 * secret signs and encrypts. Values made with the previous secret are still accepted, so the secret can be rotated.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

export type Purpose =
  | 'session'
  | 'credentials'
  | 'download-link'
  | 'cursor'
  | 's3'
  | 'share'
  | 'sign-in'
  | 'access-token'
  | 'refresh-token'

/** The kinds of values that are stored encrypted. `db/sealed.ts` lists the columns, so that a rotation covers all of them. */
export type SealedKind =
  | 'provider'
  | 'encryption'
  | 'tokens'
  | 'consent'
  | 'upload'
  | 'webhook'
  | 'share'
  | 'totp'
  | 'issuer'
  | 'issuer-test'
  | 'session'
  | 'host-key'
  | 'push-key'

export interface Secrets {
  /** Returns keys of 32 bytes: the current one, which signs, then others that are still accepted. */
  keys(purpose: Purpose): readonly [Buffer, ...Buffer[]]
  /** Encrypts with AES-256-GCM under the current key, bound to the row's kind and id. The result starts with the key's id. */
  seal(kind: SealedKind, id: string, plain: string): Buffer
  /** Decrypts. @throws SecretMismatch if the value was sealed under another secret, for another row, or altered */
  open(kind: SealedKind, id: string, sealed: Buffer): string
  /** The prefix of values sealed under the current key. */
  readonly currentKeyId: Buffer
  /** Signs a payload, which stays readable. `context` is part of the signature but not of the result. */
  sign(purpose: Purpose, payload: string, context?: string): string
  /** Returns the payload, or null if the signature is invalid. */
  verify(purpose: Purpose, signed: string, context?: string): string | null
}

export class SecretMismatch extends Error {}

const keyIdBytes = 4
const ivBytes = 12
const tagBytes = 16
/** 128 bits. */
const macBytes = 16

/** Additional authenticated data, so that a sealed value cannot be opened in another row. */
const contextOf: Record<SealedKind, (id: string) => string> = {
  provider: id => id,
  encryption: id => `encryption:${id}`,
  tokens: id => `${id}/tokens`,
  consent: id => id,
  upload: id => `upload:${id}`,
  webhook: id => `webhook:${id}`,
  share: id => `share:${id}`,
  totp: id => `totp:${id}`,
  issuer: id => `issuer:${id}`,
  'issuer-test': id => `issuer-test:${id}`,
  session: id => `session:${id}`,
  'host-key': id => `host-key:${id}`,
  'push-key': id => `push-key:${id}`,
}

interface Keys {
  byPurpose: Record<Purpose, Buffer>
  id: Buffer
}

function deriveKeys(secret: string): Keys {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'stowage', purpose, 32))
  const byPurpose: Record<Purpose, Buffer> = {
    session: derive('session'),
    credentials: derive('credentials'),
    'download-link': derive('download-link'),
    cursor: derive('cursor'),
    s3: derive('s3'),
    share: derive('share'),
    'sign-in': derive('sign-in'),
    'access-token': derive('access-token'),
    'refresh-token': derive('refresh-token'),
  }
  return { byPurpose, id: createHash('sha256').update(byPurpose.credentials).digest().subarray(0, keyIdBytes) }
}

/** @param previous a secret whose values are still accepted */
export function deriveSecrets(secret: string, previous: string | null = null): Secrets {
  const current = deriveKeys(secret)
  const accepted = previous === null ? [current] : [current, deriveKeys(previous)]
  const mac = (key: Buffer, payload: string, context: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([payload, context]))
      .digest()
      .subarray(0, macBytes)

  return {
    keys: purpose => [current.byPurpose[purpose], ...accepted.slice(1).map(({ byPurpose }) => byPurpose[purpose])],
    currentKeyId: current.id,

    seal(kind, id, plain) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', current.byPurpose.credentials, iv)
      cipher.setAAD(Buffer.from(contextOf[kind](id)))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([current.id, iv, cipher.getAuthTag(), body])
    },

    open(kind, id, sealed) {
      const keys = accepted.find(keys => sealed.subarray(0, keyIdBytes).equals(keys.id))
      if (!keys) throw new SecretMismatch('These credentials were stored under another STOWAGE_SECRET.')
      const iv = sealed.subarray(keyIdBytes, keyIdBytes + ivBytes)
      const tag = sealed.subarray(keyIdBytes + ivBytes, keyIdBytes + ivBytes + tagBytes)
      try {
        const decipher = createDecipheriv('aes-256-gcm', keys.byPurpose.credentials, iv, { authTagLength: tagBytes })
        decipher.setAAD(Buffer.from(contextOf[kind](id))).setAuthTag(tag)
        const body = sealed.subarray(keyIdBytes + ivBytes + tagBytes)
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
      } catch (cause) {
        throw new SecretMismatch('These stored credentials were altered.', { cause })
      }
    },

    sign(purpose, payload, context = '') {
      const signature = mac(current.byPurpose[purpose], payload, context)
      return `${Buffer.from(payload).toString('base64url')}.${signature.toString('base64url')}`
    },

    verify(purpose, signed, context = '') {
      const [encoded, signature, ...rest] = signed.split('.', 3)
      if (encoded === undefined || signature === undefined || rest.length > 0) return null
      const payload = Buffer.from(encoded, 'base64url').toString('utf8')
      const actual = Buffer.from(signature, 'base64url')
      if (actual.length !== macBytes) return null
      const isSigned = accepted.some(({ byPurpose }) =>
        timingSafeEqual(actual, mac(byPurpose[purpose], payload, context)),
      )
      return isSigned ? payload : null
    },
  }
}
