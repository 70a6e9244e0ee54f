import type { FastifyRequest } from 'fastify'
import { parseSignedHeaders, parseSignedQuery, type SignedMessage } from '../auth/sigv4/message.ts'
import { parseSignature } from '../auth/sigv4/signature.ts'
import { type VerifiedSignature, verifySignature } from '../auth/sigv4/verify.ts'
import type { Viewer } from '../auth/viewer.ts'
import { originOf } from '../http/authentication.ts'
import { namedProvider } from '../http/named-provider.ts'
import { splitUrl } from '../http/url.ts'
import type { Services } from '../services/index.ts'
import type { Settings } from '../settings.ts'

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
  settings: Pick<Settings, 'publicUrl' | 'basePath'>,
): (request: FastifyRequest) => Promise<Viewer> | null {
  return request => {
    if (bearer.test(request.headers.authorization ?? '')) return null
    const [message, ...others] = formsOf(request, settings)
    const signature = parseSignature(message)
    if (!signature) return null
    const verify = (secrets: readonly string[]) => verifySignature(signature, [message, ...others], secrets, Date.now())
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

/**
 * Returns the forms in which the client may have signed the request: as it arrived, and with the host and the path of the
 * public URL, in case that a proxy has changed them.
 */
function formsOf(
  { raw, originalUrl, host }: FastifyRequest,
  { publicUrl, basePath }: Pick<Settings, 'publicUrl' | 'basePath'>,
): [SignedMessage, ...SignedMessage[]] {
  const [path, query] = splitUrl(originalUrl)
  const message: SignedMessage = {
    method: raw.method ?? '',
    path,
    query: parseSignedQuery(query),
    headers: parseSignedHeaders(raw.rawHeaders),
  }
  const hosts = new Set([message.headers.get('host') ?? '', host])
  if (publicUrl !== null) hosts.add(new URL(publicUrl).host)
  const paths = new Set([path, ...(path.startsWith(`${basePath}/`) ? [] : [basePath + path])])
  const forms = [...hosts].flatMap(name =>
    [...paths].map(path => ({ ...message, path, headers: new Map([...message.headers, ['host', name]]) })),
  )
  return [message, ...forms.slice(1)]
}
