import { StorageError } from '../../contract.ts'

/**
 * Converts the error of a certificate that is not trusted to one that shows the certificate, for the person who connects a
 * storage. Returns other errors unchanged.
 * @param error the error of `open`, whose cause is that of `Network.connect`
 * @param property the property of the configuration that takes the fingerprint
 */
export function showCertificate(error: unknown, property: string, host: string): unknown {
  const cause = error instanceof Error && error.cause
  if (!(cause instanceof Error) || !('fingerprint' in cause) || typeof cause.fingerprint !== 'string') return error
  const message = `The certificate of ${host} is not trusted. It has the SHA-256 fingerprint ${cause.fingerprint}. Compare it with the one that the administrator of the server names, and enter it.`
  const options = { cause, property: { name: property, suggestion: cause.fingerprint } }
  return new StorageError('INVALID_CONFIG', message, options)
}
