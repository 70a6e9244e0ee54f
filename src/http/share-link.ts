/** Authenticates requests to the endpoints of share links. The link's token is in their path. A share with members also needs the session of one. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../auth/viewer.ts'
import type { Services } from '../services/index.ts'
import type { OpenedShare } from '../services/shares/opening.ts'
import { bearerToken, originOf } from './authentication.ts'
import { requestSignal } from './connection/client-abort.ts'
import type { RequestParameters } from './openapi/operation.ts'
import { cookieOf, cookieToken } from './session-cookie.ts'

/** The path of the endpoints of one share. */
export const sharePath = '/api/share/:token'

const passwordHeader = 'Stowage-Share-Password'
/** The cookie has the path of its share, so each share has its own. */
const proofCookie = 'stowage_share'

export const shareTokenParameter: RequestParameters = {
  token: { description: 'The token at the end of the share link.', schema: { type: 'string' } },
}

export const sharePasswordParameter: RequestParameters = {
  [passwordHeader]: {
    description: 'The password of the share, if it has one, in UTF-8.',
    schema: { type: 'string' },
  },
}

const openedShares = new WeakMap<FastifyRequest, OpenedShare['share']>()
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Returns the `authenticate` option of a route below `sharePath`. */
export function authenticateShare({ sharedFiles }: Pick<Services, 'sharedFiles'>) {
  return async (request: FastifyRequest): Promise<Viewer> => {
    const key = {
      password: passwordOf(request),
      proof: cookieOf(request, proofCookie),
      session: bearerToken(request) ?? cookieToken(request),
    }
    const { viewer, share } = await sharedFiles.open(tokenOf(request), key, originOf(request), requestSignal(request))
    openedShares.set(request, share)
    return viewer
  }
}

/** Returns the share that the request has opened. Call it only in routes with `authenticateShare`. */
export function openedShare(request: FastifyRequest): OpenedShare {
  const share = openedShares.get(request)
  if (!request.viewer || !share) throw new Error('The route does not authenticate with a share link')
  return { viewer: request.viewer, share }
}

/** Keeps the proof of a password and a session in a cookie that only the endpoints of this share get. */
export function setProofCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { proof, expiresAt, basePath }: { proof: string; expiresAt: Date; basePath: string },
): void {
  reply.setCookie(proofCookie, proof, {
    path: `${basePath}${sharePath.replace(':token', tokenOf(request))}`,
    expires: expiresAt,
    httpOnly: true,
    sameSite: 'strict',
    secure: request.protocol === 'https',
  })
}

export function tokenOf({ params }: FastifyRequest): string {
  return (params as { token: string }).token
}

/** Node.js reads a header as Latin-1. Clients that send other bytes than UTF-8 mean what Node.js has read. */
function passwordOf({ headers }: FastifyRequest): string | null {
  const text = headers[passwordHeader.toLowerCase()]
  if (typeof text !== 'string') return null
  try {
    return utf8.decode(Buffer.from(text, 'latin1'))
  } catch {
    return text
  }
}
