import type { FastifyRequest } from 'fastify'
import { parseSignedHeaders, parseSignedQuery, type SignedMessage } from '../auth/sigv4/message.ts'
import { parseSignature } from '../auth/sigv4/signature.ts'
import { SigningKeys } from '../auth/sigv4/signing-keys.ts'
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
  const signingKeys = new SigningKeys()
  return request => {
    if (bearer.test(request.headers.authorization ?? '')) return null
    const message = messageOf(request)
    const signature = parseSignature(message)
    if (!signature) return null
    const verify = (secrets: () => readonly string[]) =>
      signingKeys.use(signature, secrets, keys =>
        verifySignature(signature, formsOf(message, request.host, settings), keys, Date.now()),
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

function messageOf({ raw, originalUrl }: FastifyRequest): SignedMessage {
  const [path, query] = splitUrl(originalUrl)
  return {
    method: raw.method ?? '',
    path,
    query: parseSignedQuery(query),
    headers: parseSignedHeaders(raw.rawHeaders),
  }
}

/**
 * Yields the forms in which the client may have signed the request: as it arrived, and with the host and the path of the
 * public URL, in case that a proxy has changed them.
 */
function* formsOf(
  message: SignedMessage,
  host: string,
  { publicUrl, basePath }: Pick<Settings, 'publicUrl' | 'basePath'>,
): Generator<SignedMessage, void, undefined> {
  yield message
  const { path, headers } = message
  const arrived = headers.get('host') ?? ''
  const hosts = new Set([arrived, host, ...(publicUrl === null ? [] : [new URL(publicUrl).host])])
  const paths = path.startsWith(`${basePath}/`) ? [path] : [path, basePath + path]
  for (const name of hosts) {
    for (const at of paths) {
      if (name === arrived && at === path) continue
      yield { ...message, path: at, headers: new Map([...headers, ['host', name]]) }
    }
  }
}
