/** Authenticates signed requests. Forms carry their signature in their fields: see `postObject`. */
import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../../auth/viewer.ts'
import { namedProvider, originOf } from '../../http/authentication.ts'
import { type S3Settings, signedForms } from '../../http/s3-target.ts'
import { splitUrl } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import { targetOf } from './request.ts'
import { parseSignature, parseSignedHeaders, parseSignedQuery, type SignedMessage } from './signature.ts'
import { SigningKeys, type VerifiedSignature, verifySignature } from './verify-signature.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if the request is not signed. */
    signature: VerifiedSignature | null
  }
}

const bearer = /^bearer /i

/**
 * Returns the function that authenticates signed requests. API keys and session tokens in the Authorization header work as
 * at all endpoints.
 */
export function authenticateSigned(
  { credentials }: Pick<Services, 'credentials'>,
  settings: S3Settings,
): (request: FastifyRequest) => Promise<Viewer> | null {
  const signingKeys = new SigningKeys()
  return request => {
    if (bearer.test(request.headers.authorization ?? '')) return null
    const message = messageOf(request)
    const signature = parseSignature(message)
    if (!signature) return null
    const verify = (secrets: () => readonly string[]) =>
      signingKeys.use(signature, secrets, keys =>
        verifySignature(signature, formsOf(message, request, settings), keys, Date.now()),
      )
    const { accessKeyId } = signature
    const authenticating = credentials.authenticateSigned(
      accessKeyId,
      verify,
      originOf(request),
      namedProvider(request),
    )
    return authenticating.then(authenticated => {
      request.signature = authenticated.signature
      return authenticated.viewer
    })
  }
}

/** Returns the request as it arrived. */
function messageOf(request: FastifyRequest): SignedMessage {
  const { raw } = request
  return {
    method: raw.method ?? '',
    path: targetOf(request).signedPath,
    query: parseSignedQuery(splitUrl(raw.url ?? '')[1]),
    headers: parseSignedHeaders(raw.rawHeaders),
  }
}

/** Yields the forms in which the client may have signed the target of the request. */
function* formsOf(
  message: SignedMessage,
  request: FastifyRequest,
  settings: S3Settings,
): Generator<SignedMessage, void, undefined> {
  for (const { host, signedPath } of signedForms(targetOf(request), settings)) {
    yield { ...message, path: signedPath, headers: new Map([...message.headers, ['host', host]]) }
  }
}
