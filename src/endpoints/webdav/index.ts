/**
 * WebDAV, classes 1 and 2 (RFC 4918), at `/dav/<slug>/...`. A request is located and authorized before its body is read; then
 * the function of its method calls a service and sends the response.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isApiKey } from '../../auth/api-key.ts'
import { needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { AuditAction } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { type BodyRule, defaultBodyLimit, inTwoSteps, type Serve } from '../../http/admission.ts'
import { authenticateUnknownBelow, namedProvider, originOf } from '../../http/authentication.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { formatErrorsBelow } from '../../http/errors.ts'
import type { Services } from '../../services/index.ts'
import { copy, deleteEntry, get, mkcol, move, put } from './entries.ts'
import { formatError } from './errors.ts'
import { lock, unlock } from './lock.ts'
import { openPropfind } from './propfind.ts'
import { proppatch } from './proppatch.ts'
import { type DavNeeds, type DavOptions, type DavRequest, davPath, openRequest, slugOf } from './request.ts'

/** Bytes of XML in a request that has a body. */
const maxXml = 128 * 1024
const withXml: ReadonlySet<string> = new Set(['PROPFIND', 'PROPPATCH', 'LOCK'])

interface DavMethod {
  /** The action that the audit log records if the route refuses a request. */
  audit: AuditAction
  /** Authorizes a request before its body is read. */
  open(request: FastifyRequest, reply: FastifyReply, options: DavOptions): Promise<Serve>
}

const methods: Readonly<Record<string, DavMethod>> = {
  OPTIONS: { audit: 'READ', open: async (_request, reply) => () => describe(reply) },
  PROPFIND: { audit: 'READ', open: openPropfind },
  GET: on(needs.read, 'DOWNLOAD', get),
  HEAD: on(needs.read, 'READ', get),
  DELETE: on(needs.delete, 'DELETE', deleteEntry),
  MKCOL: on(needs.create, 'FOLDER_CREATE', mkcol),
  COPY: on(needs.copy, 'COPY', copy),
  MOVE: on(needs.move, 'MOVE', move),
  PROPPATCH: on(needs.delete, 'PROPERTIES_UPDATE', proppatch),
  LOCK: on(needs.delete, 'READ', lock),
  UNLOCK: on(needs.delete, 'READ', unlock),
}
const uploads: Readonly<Record<string, DavMethod>> = { PUT: on(needs.create, 'UPLOAD', put) }
const allowed = [...Object.keys(methods), ...Object.keys(uploads)].join(', ')
/** Methods that Fastify does not know. */
const newMethods = ['PROPFIND', 'PROPPATCH', 'MKCOL', 'COPY', 'MOVE', 'LOCK', 'UNLOCK']

export async function registerWebdav(app: FastifyInstance, options: DavOptions): Promise<void> {
  formatErrorsBelow(app, davPath, formatError)
  const authenticate = basicAuthentication(options.services)
  authenticateUnknownBelow(app, davPath, authenticate)
  for (const method of newMethods) app.addHttpMethod(method, { hasBody: true })
  // Clients look for these in any response, Windows for the second one.
  await app.register(async scope => {
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.headers({ DAV: '1, 2', 'MS-Author-Via': 'DAV' })
      done()
    })
    const common = { authenticate, ignoresCookie: true, slugOf } as const
    for (const [method, { audit, open }] of Object.entries({ ...methods, ...uploads })) {
      const { authorize, handler } = inTwoSteps((request, reply) => open(request, reply, options))
      const isUpload = method in uploads
      const maxBytes = withXml.has(method) ? maxXml : defaultBodyLimit
      const body: BodyRule = isUpload ? { kind: 'file', authorize } : { kind: 'parsed', maxBytes, authorize }
      for (const url of [davPath, `${davPath}/*`]) {
        scope.route({
          method,
          url,
          exposeHeadRoute: false,
          config: { ...common, audit, body, ...(isUpload && { continuesLater: true }) },
          async handler(request, reply) {
            await asTransfer(app, handler(request, reply))
            return reply
          },
        })
      }
    }
  })
}

/** Says the same for every path, so it needs no credential. Some clients send none. */
async function describe(reply: FastifyReply): Promise<void> {
  reply.header('Allow', allowed).send()
}

function on(needed: DavNeeds, audit: AuditAction, handle: (dav: DavRequest) => Promise<void>): DavMethod {
  return {
    audit,
    async open(request, reply, options) {
      const dav = await openRequest(request, reply, options, needed)
      return () => handle(dav)
    },
  }
}

const scheme = /^Basic +([A-Za-z0-9+/=_-]+) *$/i

/**
 * Authenticates with an API key as the password of Basic authentication (RFC 7617). The user name does not matter. Any other
 * password counts as a wrong credential; the password of an account is never tried.
 */
function basicAuthentication({
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
