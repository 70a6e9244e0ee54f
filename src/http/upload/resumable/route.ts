import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatPath, type StoragePath } from '../../../auth/path.ts'
import { requireScope } from '../../../auth/policy.ts'
import { requireViewer } from '../../../auth/viewer.ts'
import { AppError } from '../../../errors.ts'
import type { Services } from '../../../services/index.ts'
import { checksumAlgorithms } from '../../../services/resumable/checksum.ts'
import type { UploadRecord } from '../../../services/resumable/index.ts'
import { requestSignal } from '../../connection/abort.ts'
import { asTransfer } from '../../connection/close.ts'
import { continueOnRead } from '../../connection/expect.ts'
import { exchange, resumablePath } from './exchange.ts'

const version = '1.0.0'
const bodyType = 'application/offset+octet-stream'

/** What the library is told of a request: addresses and credentials are ours. */
const told = /^(?:tus-resumable|upload-[a-z-]+|content-length|content-type)$/
/** What clients are told of its answer; CORS is ours. */
const answered = /^(?:tus-[a-z-]+|upload-[a-z-]+|location)$/

/** The tus protocol, version 1.0.0 (https://tus.io/protocols/resumable-upload), in a scope of its own: bodies are bytes. */
export async function resumableRoutes(app: FastifyInstance, services: Services): Promise<void> {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // Also of errors, and also where a hook refuses the request.
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('Tus-Resumable', version)
    done()
  })

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const method = methodOf(request)
    if (method !== 'OPTIONS') {
      // What is to be made has a place, which the service tells the audit log of.
      if (method === 'POST') requireViewer(request.viewer)
      else requireScope(request.viewer, 'write')
      requireVersion(request, reply)
    }
    if (method === 'PATCH' && request.headers['content-type'] !== bodyType) {
      throw new AppError('UNSUPPORTED_MEDIA_TYPE', `Send the bytes with "Content-Type: ${bodyType}".`)
    }
    continueOnRead(request.raw, reply)
    const answer = await asTransfer(
      app,
      exchange(services.uploads, {
        method,
        url: `http://server${(request.raw.url ?? '').split('?', 1)[0]}`,
        headers: new Headers(Object.entries(request.headers).flatMap(([name, value]) => header(name, value))),
        body: request.raw,
        viewer: request.viewer,
        signal: requestSignal(request),
        maxBytes: services.uploads.maxBytes,
      }),
    )
    for (const [name, value] of answer.headers) if (answered.test(name)) reply.header(name, value)
    if (method === 'OPTIONS') reply.header('Tus-Checksum-Algorithm', checksumAlgorithms.join(','))
    if (answer.record) describe(answer.record, method, reply)
    await reply.status(answer.status).send()
  }

  const config = { continuesLater: true, audit: 'UPLOAD' } as const
  app.route({ method: ['POST', 'OPTIONS'], url: resumablePath, config, handler: handle })
  app.route({
    method: ['HEAD', 'PATCH', 'DELETE', 'OPTIONS', 'POST'],
    url: `${resumablePath}/:id`,
    config,
    handler: handle,
  })
}

/** Beside what the library says: when it expires now, and where the file is once it is complete. */
function describe(record: UploadRecord, method: string, reply: FastifyReply): void {
  if (method === 'HEAD' && record.metadata !== '') reply.header('Upload-Metadata', record.metadata)
  if (record.storedPath === null) {
    reply.header('Upload-Expires', record.expiresAt.toUTCString())
    return
  }
  reply.removeHeader('Upload-Expires')
  const segments = formatPath(record.storedPath as StoragePath).split('/')
  reply.header('Upload-Stored-Path', segments.map(encodeURIComponent).join('/'))
}

function header(name: string, value: string | string[] | undefined): [string, string][] {
  return told.test(name) && typeof value === 'string' ? [[name, value]] : []
}

/** Where a client cannot send PATCH or DELETE it says so in a header of a POST. @throws METHOD_NOT_ALLOWED */
function methodOf({ method, headers, params }: FastifyRequest): string {
  const hasId = (params as { id?: string }).id !== undefined
  if (method !== 'POST' || !hasId) return method
  const other = String(headers['x-http-method-override']).toUpperCase()
  if (other === 'PATCH' || other === 'DELETE' || other === 'HEAD') return other
  throw new AppError('METHOD_NOT_ALLOWED', 'This address takes HEAD, PATCH and DELETE.')
}

/** @throws PRECONDITION_FAILED */
function requireVersion({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers['tus-resumable'] === version) return
  reply.header('Tus-Version', version)
  throw new AppError('PRECONDITION_FAILED', `This server speaks tus ${version}: send "Tus-Resumable: ${version}".`)
}
