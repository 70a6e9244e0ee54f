import { StorageError } from '../../contract.ts'

/** Properties of configurations for servers. Add a `default` where the type has one. */
const singleLine = '^[^\\r\\n]*$'

export const hostProperty = {
  type: 'string',
  title: 'Server',
  description: 'A name or an address.',
  pattern: '^[A-Za-z0-9._:-]{1,253}$',
}

export const portProperty = { type: 'integer', title: 'Port', minimum: 1, maximum: 65535 }

export const userProperty = { type: 'string', title: 'User name', minLength: 1, maxLength: 256, pattern: singleLine }

export const passwordProperty = {
  type: 'string',
  title: 'Password',
  maxLength: 1024,
  pattern: singleLine,
  writeOnly: true,
}

export const folderProperty = {
  type: 'string',
  title: 'Folder',
  description: 'Serves only the content of this folder. A relative path begins in the login folder. It must exist.',
  default: '',
  maxLength: 1024,
  pattern: singleLine,
  keepsSecrets: true,
}

export const connectionsProperty = {
  type: 'integer',
  title: 'Connections',
  description: 'Advanced: the maximum number of connections of each server process.',
  keepsSecrets: true,
}

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

/** Calls `close` when the signal aborts, until the end of a scope: `using _closing = closeOnAbort(...)`. */
export function closeOnAbort(signal: AbortSignal, close: () => void): Disposable {
  signal.addEventListener('abort', close, { once: true })
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', close) }
}
