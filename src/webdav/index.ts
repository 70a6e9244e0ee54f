/** WebDAV, classes 1 and 2 (RFC 4918), at `/dav/<slug>/...`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { needs } from '../auth/needs.ts'
import type { AuditAction } from '../db/schema.ts'
import { type Authenticate, authenticateUnknownBelow } from '../http/authentication.ts'
import { bufferBodies, streamBodies } from '../http/body-parsers.ts'
import { asTransfer } from '../http/connection/graceful-close.ts'
import { formatErrorsBelow } from '../http/error-formats.ts'
import { davPath, slugOf } from './address.ts'
import { basicAuthentication } from './basic-auth.ts'
import { copy, move } from './copy-move.ts'
import { type DavNeeds, type DavOptions, type DavRequest, openRequest } from './dav-request.ts'
import { deleteEntry } from './delete.ts'
import { formatError } from './errors.ts'
import { get } from './get.ts'
import { lock, unlock } from './lock.ts'
import { mkcol } from './mkcol.ts'
import { propfind } from './propfind.ts'
import { proppatch } from './proppatch.ts'
import { put } from './put.ts'

/** Bytes of XML in a request that has a body. */
const maxXml = 128 * 1024
const withXml: ReadonlySet<string> = new Set(['PROPFIND', 'PROPPATCH', 'LOCK'])

type Handler = (request: FastifyRequest, reply: FastifyReply, options: DavOptions) => Promise<void>

interface DavMethod {
  /** The action that the audit log records if the route refuses a request. */
  audit: AuditAction
  handle: Handler
}

function on(needed: DavNeeds, audit: AuditAction, handle: (dav: DavRequest) => Promise<void>): DavMethod {
  return {
    audit,
    handle: async (request, reply, options) => handle(await openRequest(request, reply, options, needed)),
  }
}

const methods: Readonly<Record<string, DavMethod>> = {
  OPTIONS: { audit: 'READ', handle: describe },
  PROPFIND: { audit: 'READ', handle: propfind },
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
  await app.register(async scope => {
    bufferBodies(scope)
    addRoutes(scope, options, methods, { authenticate })
  })
  await app.register(async scope => {
    streamBodies(scope)
    addRoutes(scope, options, uploads, { authenticate, streamsBody: true, continuesLater: true })
  })
}

function addRoutes(
  app: FastifyInstance,
  options: DavOptions,
  added: Readonly<Record<string, DavMethod>>,
  own: { authenticate: Authenticate; streamsBody?: true; continuesLater?: true },
): void {
  // Clients look for these in any response, Windows for the second one.
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers({ DAV: '1, 2', 'MS-Author-Via': 'DAV' })
    done()
  })
  const common = {
    ...own,
    ignoresCookie: true,
    slugOf,
  }
  for (const [method, { audit, handle }] of Object.entries(added)) {
    for (const url of [davPath, `${davPath}/*`]) {
      app.route({
        method,
        url,
        exposeHeadRoute: false,
        ...(withXml.has(method) && { bodyLimit: maxXml }),
        config: { ...common, audit },
        async handler(request, reply) {
          await asTransfer(app, handle(request, reply, options))
          return reply
        },
      })
    }
  }
}

/** Says the same for every path, so it needs no credential. Some clients send none. */
async function describe(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('Allow', allowed).send()
}
