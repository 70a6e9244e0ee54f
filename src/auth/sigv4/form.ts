/** Verifies the signature of a form: its policy is the text that is signed (AWS Signature Version 4). */
import { SignatureError } from './failure.ts'
import {
  maxExpiry,
  parseCredential,
  parseTimestamp,
  parseValue,
  type Signature,
  signatureAlgorithm,
} from './signature.ts'
import { deriveSigningKey, hmac, isEqualHex, requireCurrent } from './verify.ts'

export interface FormSignature extends Pick<Signature, 'accessKeyId' | 'scope' | 'timestamp' | 'value'> {
  /** In base64, as the form has it. */
  policy: string
}

/**
 * Returns null if the form has no signature.
 * @param fields by their names in lowercase
 * @throws SignatureError if it is malformed
 */
export function parseFormSignature(fields: ReadonlyMap<string, string>): FormSignature | null {
  const [policy, value] = [fields.get('policy'), fields.get('x-amz-signature')]
  if (policy === undefined && value === undefined) return null
  if (policy === undefined || value === undefined) {
    throw new SignatureError('InvalidArgument', 'A form needs both the fields "policy" and "x-amz-signature".')
  }
  if (fields.get('x-amz-algorithm') !== signatureAlgorithm) {
    throw new SignatureError('InvalidArgument', `The form field "x-amz-algorithm" must be "${signatureAlgorithm}".`)
  }
  return {
    ...parseCredential(fields.get('x-amz-credential'), 'InvalidArgument'),
    timestamp: parseTimestamp(fields.get('x-amz-date'), 'InvalidArgument'),
    value: parseValue(value, 'InvalidArgument'),
    policy,
  }
}

/**
 * A policy has an expiry of its own. Like a presigned URL, its signature is valid for at most 7 days.
 * @param secrets the secrets of the access key, of which one has signed
 * @param now milliseconds since 1970
 * @throws SignatureError
 */
export function verifyFormSignature(signature: FormSignature, secrets: readonly string[], now: number): void {
  requireCurrent({ ...signature, expiresIn: maxExpiry }, now)
  const isSigned = (secret: string) =>
    isEqualHex(signature.value, hmac(deriveSigningKey(secret, signature), signature.policy))
  if (secrets.some(isSigned)) return
  throw new SignatureError(
    'SignatureDoesNotMatch',
    'The signature does not match the policy of the form: check the secret access key.',
  )
}
