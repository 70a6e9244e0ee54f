import type { FastifyRequest } from 'fastify'
import { isApiKey } from '../../auth/api-key.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { namedProvider } from '../../http/named-provider.ts'
import type { Services } from '../../services/index.ts'

const scheme = /^Basic +([A-Za-z0-9+/=_-]+) *$/i

/**
 * Authenticates with an API key as the password of Basic authentication (RFC 7617). The user name does not matter. Any other
 * password counts as a wrong credential; the password of an account is never tried.
 */
export function basicAuthentication({
  credentials,
  requestLimits,
}: Services): (request: FastifyRequest) => Promise<Viewer> | null {
  async function authenticate(encoded: string, request: FastifyRequest): Promise<Viewer> {
    const text = Buffer.from(encoded, 'base64').toString()
    const password = text.slice(text.indexOf(':') + 1)
    if (isApiKey(password)) return credentials.authenticate(password, originOf(request), namedProvider(request))
    requestLimits.countGuess(request.ip)
    throw new AppError('INVALID_CREDENTIAL', 'Use an API key as the password, and any user name.')
  }

  return request => {
    const encoded = scheme.exec(request.headers.authorization ?? '')?.[1]
    return encoded === undefined ? null : authenticate(encoded, request)
  }
}
