/** Explains why a server cannot be reached, by the codes of Node's sockets, of TLS and of DNS. */
import { StorageError } from './contract.ts'

const reasons: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ERR_CLOSED_ADDRESS: 'its address is closed to providers',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'no network route leads to it',
  ENETUNREACH: 'no network route leads to it',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
  ETIMEDOUT: 'it did not respond in time',
  EPROTO: 'it does not speak TLS, or this server does not speak its version',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS there',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_TLS_CERT_FINGERPRINT: 'its certificate has another fingerprint than the configuration',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not signed by an authority that this server trusts',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by an authority that this server trusts',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by an authority that this server trusts',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by an authority that this server trusts',
}

/** Error codes of sockets, TLS and Node's HTTP parser. `ERR_INVALID_...` is a bug and does not match. */
const networkCode = /^E[A-Z]{3,}$|^EAI_|^ERR_(?:SSL|TLS)_|^ERR_CLOSED_ADDRESS$|^HPE_|CERT|SIGNATURE$/

export function isNetworkError({ code, name }: { code?: unknown; name: string }): boolean {
  return name === 'TimeoutError' || (typeof code === 'string' && networkCode.test(code))
}

/** Returns the second half of a sentence: "it closed the connection". */
export function whyUnreachable({ code, name }: { code?: unknown; name: string }): string {
  const text = typeof code === 'string' ? code : ''
  // The SDK of S3 reports every broken connection as a timeout.
  const known = reasons[text] ?? (name === 'TimeoutError' ? reasons.ETIMEDOUT : undefined)
  return known ?? (text.startsWith('HPE_') ? 'it does not speak HTTP' : 'the connection failed')
}

/** Makes the error for a server that cannot be reached. */
export function unreachable(
  error: Error & { code?: unknown },
  { host, port }: { host: string; port: number },
): StorageError {
  const message = `${host}:${port} cannot be reached: ${whyUnreachable(error)}. Check the server and the port, or try again.`
  return new StorageError('UNAVAILABLE', message, { cause: error })
}
