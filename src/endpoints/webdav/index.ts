/** WebDAV, classes 1 and 2 (RFC 4918), at `/dav/<slug>/...`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { needs } from '../../auth/needs.ts'
import type { AuditAction } from '../../db/schema.ts'
import { type BodyRule, defaultBodyLimit, inTwoSteps, type Serve } from '../../http/admission.ts'
import { authenticateUnknownBelow } from '../../http/authentication.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { formatErrorsBelow } from '../../http/error-formats.ts'
import { davPath, slugOf } from './address.ts'
import { basicAuthentication } from './basic-auth.ts'
import { copy, move } from './copy-move.ts'
import { type DavNeeds, type DavOptions, type DavRequest, openRequest } from './dav-request.ts'
import { deleteEntry } from './delete.ts'
import { formatError } from './errors.ts'
import { get } from './get.ts'
import { lock, unlock } from './lock.ts'
import { mkcol } from './mkcol.ts'
import { openPropfind } from './propfind.ts'
import { proppatch } from './proppatch.ts'
import { put } from './put.ts'

/** Bytes of XML in a request that has a body. */
const maxXml = 128 * 1024
const withXml: ReadonlySet<string> = new Set(['PROPFIND', 'PROPPATCH', 'LOCK'])

interface DavMethod {
  /** The action that the audit log records if the route refuses a request. */
  audit: AuditAction
  /** Authorizes a request before its body is read. */
  open(request: FastifyRequest, reply: FastifyReply, options: DavOptions): Promise<Serve>
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
