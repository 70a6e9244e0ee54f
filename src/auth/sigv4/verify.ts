/** Verifies signatures of requests (AWS Signature Version 4). */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { SignatureError } from './failure.ts'
import { hashCanonicalRequest, type SignedMessage } from './message.ts'
import { maxExpiry, type Signature, signatureAlgorithm } from './signature.ts'

/** Milliseconds by which the clock of a client may differ. */
const clockSkew = 15 * 60 * 1000

/** A signature that was verified, and the key that also signs the chunks of its body. */
export interface VerifiedSignature extends Signature {
  signingKey: KeyObject
}

/**
 * @param messages the request in the forms in which its client may have signed it; a proxy can change the host or the path
 * @param signingKeys one signing key for each secret of the access key. The signature must match one of them
 * @param now milliseconds since 1970
 * @throws SignatureError
 */
export function verifySignature(
  signature: Signature,
  messages: Iterable<SignedMessage>,
  signingKeys: readonly KeyObject[],
  now: number,
): VerifiedSignature {
  requireCurrent(signature, now)
  for (const message of messages) {
    requireSignedHeaders(signature, message)
    const text = stringToSign(signature, hashCanonicalRequest(message, signature.signedHeaders, signature.payload))
    for (const signingKey of signingKeys) {
      if (isEqualHex(signature.value, hmac(signingKey, text))) return { ...signature, signingKey }
    }
  }
  throw new SignatureError(
    'SignatureDoesNotMatch',
    'The signature does not match the request: check the secret access key, and that no proxy changes the path, the host or a signed header. If clients use another address than the server, set STOWAGE_PUBLIC_URL.',
  )
}

/** @throws SignatureError if the client's clock is wrong, or the URL or the form has expired */
export function requireCurrent(
  { scope, timestamp, expiresIn }: Pick<Signature, 'scope' | 'timestamp' | 'expiresIn'>,
  now: number,
): void {
  const signedAt = timeOf(timestamp)
  if (Number.isNaN(signedAt) || !timestamp.startsWith(scope.date)) {
    throw new SignatureError('AccessDenied', 'The date of the credential must be the date of the signature.')
  }
  const isEarly = signedAt > now + clockSkew
  if (expiresIn === null) {
    if (isEarly || signedAt < now - clockSkew) {
      throw new SignatureError(
        'RequestTimeTooSkewed',
        'The time of the request differs from the time of the server by more than 15 minutes: correct the clock.',
      )
    }
    return
  }
  if (isEarly)
    throw new SignatureError('AccessDenied', 'The URL or the form is not valid yet: check the clock of its signer.')
  if (now > signedAt + Math.min(expiresIn, maxExpiry) * 1000) {
    throw new SignatureError('AccessDenied', 'The URL or the form has expired: ask for a new one.')
  }
}

/** Requires that the host and all headers that change the meaning of a request are signed, and that signed headers were sent. */
function requireSignedHeaders({ signedHeaders }: Signature, { headers }: SignedMessage): void {
  const signed = new Set(signedHeaders)
  const unsigned = [...headers.keys()].filter(name => name.startsWith('x-amz-') && !signed.has(name))
  // Presigned URLs name the payload in the query or not at all.
  const relevant = unsigned.filter(name => name !== 'x-amz-content-sha256')
  if (!signed.has('host') || relevant.length > 0) {
    throw new SignatureError(
      'AccessDenied',
      `There were headers present in the request which were not signed: ${relevant.join(', ') || 'host'}.`,
    )
  }
  const missing = signedHeaders.filter(name => !headers.has(name))
  if (missing.length > 0) {
    throw new SignatureError('SignatureDoesNotMatch', `Signed headers are missing: ${missing.join(', ')}.`)
  }
}

/** Returns milliseconds since 1970; NaN for a date that does not exist. */
function timeOf(timestamp: string): number {
  const [date, time] = [timestamp.slice(0, 8), timestamp.slice(9, 15)]
  const day = date.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3')
  return Date.parse(`${day}T${time.replace(/^(\d{2})(\d{2})(\d{2})$/, '$1:$2:$3')}Z`)
}

function stringToSign(signature: Signature, requestHash: string): string {
  return `${signatureAlgorithm}\n${signature.timestamp}\n${scopeText(signature)}\n${requestHash}`
}

export function scopeText({ scope: { date, region } }: Pick<Signature, 'scope'>): string {
  return `${date}/${region}/s3/aws4_request`
}

/** Returns a key object, with which a digest takes a fifth of the time that it takes with a buffer. */
export function deriveSigningKey(secret: string, { scope: { date, region } }: Pick<Signature, 'scope'>): KeyObject {
  const texts = [region, 's3', 'aws4_request']
  return createSecretKey(texts.reduce((key, text) => hmac(key, text), hmac(`AWS4${secret}`, date)))
}

export function hmac(key: string | Buffer | KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** Compares a hexadecimal text with bytes in constant time. */
export function isEqualHex(hex: string, bytes: Buffer): boolean {
  const given = Buffer.from(hex, 'hex')
  return given.length === bytes.length && timingSafeEqual(given, bytes)
}
