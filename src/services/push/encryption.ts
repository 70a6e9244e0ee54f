/**
 * The requests to push services: the encryption of a message for one browser (RFC 8291, RFC 8188) and the signature of this server
 * (RFC 8292). Push services see neither the text nor its length.
 */
import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  ECDH,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  sign,
} from 'node:crypto'
import type { PushReceiver } from '../../db/push-subscriptions.ts'

const curve = 'prime256v1'
/** Bytes of a point that is not compressed. */
export const pointBytes = 65
export const authBytes = 16
/** Bytes. Push services accept 4,096 of them (RFC 8030, section 7.2), which have a header and a tag. */
export const maxText = 3072
/** Bytes. A text is filled up to a multiple of this, so that its length says little. */
const padding = 1024
const recordSize = 4096
const tagBytes = 16
/** Seconds for which a signature is valid: a day at most (RFC 8292, section 2). */
const signatureLifetime = 12 * 60 * 60

/** Returns whether bytes are a point of the curve, as browsers send it. */
export function isPoint(bytes: Buffer): boolean {
  if (bytes.length !== pointBytes) return false
  try {
    ECDH.convertKey(bytes, curve)
    return true
  } catch {
    return false
  }
}

function derive(secret: Buffer, salt: Buffer, info: string | Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length))
}

/**
 * Encrypts a text for one browser: the body of a request with `Content-Encoding: aes128gcm`.
 * @param fixed the values that are random otherwise, for the example of the RFC
 */
export function encrypt(
  text: Buffer,
  { publicKey, auth }: Pick<PushReceiver, 'publicKey' | 'auth'>,
  fixed?: { privateKey: Buffer; salt: Buffer; padding: number },
): Buffer {
  const own = createECDH(curve)
  if (fixed) own.setPrivateKey(fixed.privateKey)
  else own.generateKeys()
  const salt = fixed?.salt ?? randomBytes(16)
  const ownPublicKey = own.getPublicKey()
  const keyInfo = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, ownPublicKey])
  const secret = derive(own.computeSecret(publicKey), auth, keyInfo, 32)
  const key = derive(secret, salt, 'Content-Encoding: aes128gcm\0', 16)
  const nonce = derive(secret, salt, 'Content-Encoding: nonce\0', 12)
  const length = text.length + 1
  const multiple = fixed?.padding ?? padding
  const record = Buffer.alloc(Math.ceil(length / multiple) * multiple)
  text.copy(record)
  // The delimiter of the last record, and then zeros: RFC 8188, section 2.
  record[text.length] = 2
  const header = Buffer.alloc(21)
  salt.copy(header)
  header.writeUInt32BE(recordSize, 16)
  header[20] = ownPublicKey.length
  const cipher = createCipheriv('aes-128-gcm', key, nonce, { authTagLength: tagBytes })
  return Buffer.concat([header, ownPublicKey, cipher.update(record), cipher.final(), cipher.getAuthTag()])
}

/** The key with which this server identifies itself, in the form in which it is stored encrypted. */
export interface SigningKey {
  publicKey: Buffer
  /** A JWK as JSON. */
  privateKey: string
}

export function generateSigningKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve })
  const jwk = privateKey.export({ format: 'jwk' })
  const coordinates = [jwk.x ?? '', jwk.y ?? ''].map(text => Buffer.from(text, 'base64url'))
  return { publicKey: Buffer.concat([Buffer.of(4), ...coordinates]), privateKey: JSON.stringify(jwk) }
}

/**
 * Returns the `Authorization` of a request (RFC 8292, section 3).
 * @param contact the operator's address, "https:" or "mailto:"; null for none, with which Apple's push service accepts nothing
 */
export function authorizationOf(
  { publicKey, privateKey }: SigningKey,
  endpoint: string,
  contact: string | null,
): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + signatureLifetime
  const claims = { aud: new URL(endpoint).origin, exp, ...(contact !== null && { sub: contact }) }
  const signed = `${encode({ typ: 'JWT', alg: 'ES256' })}.${encode(claims)}`
  const key = createPrivateKey({ key: JSON.parse(privateKey), format: 'jwk' })
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `vapid t=${signed}.${signature.toString('base64url')}, k=${publicKey.toString('base64url')}`
}
