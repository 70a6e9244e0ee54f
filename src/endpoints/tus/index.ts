/**
 * Resumable uploads with tus 1.0.0 (https://tus.io/protocols/resumable-upload). The routes parse the headers of the protocol;
 * an upload of the services receives the bytes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatPath, type StoragePath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { type BodyRule, defaultBodyLimit } from '../../http/admission.ts'
import { continueOnRead } from '../../http/connection/body-bounds.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { splitUrl } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import type { OpenUpload, UploadRecord } from '../../services/uploads/index.ts'
import { checksumAlgorithms } from '../../services/uploads/receive.ts'
import { dropEndpoint, memberEndpoint, type TusEndpoint } from './endpoints.ts'
import {
  announcedSize,
  bodyChecksum,
  bodyType,
  declaredSize,
  extensions,
  overrides,
  requireOffset,
  version,
} from './protocol.ts'

/** Adds the tus endpoints, in scopes of their own because no body is parsed in them. */
export async function registerTus(
  app: FastifyInstance,
  { services, basePath }: { services: Services; basePath: string },
): Promise<void> {
  for (const endpoint of [memberEndpoint(services), dropEndpoint(services)]) {
    await app.register(scope => tusRoutes(scope, endpoint, basePath))
  }
}

/** Clients of tus repeat requests after statuses from 500 on. The protocol has 413 for an upload that does not fit. */
class NoRoom extends AppError {
  constructor(cause: AppError) {
    super('QUOTA_EXCEEDED', cause.message, { cause, facts: cause.facts && { ...cause.facts } })
  }

  override get status(): number {
    return 413
  }
}

async function tusRoutes(app: FastifyInstance, endpoint: TusEndpoint, basePath: string): Promise<void> {
  // Set in a hook so that error responses carry the header, too.
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('Tus-Resumable', version)
    done()
  })

  app.setErrorHandler(error => {
    throw error instanceof AppError && error.reason === 'QUOTA_EXCEEDED' ? new NoRoom(error) : error
  })

  const { collection, requireRight } = endpoint
  const authorize = (request: FastifyRequest) => requireRight(request, 'continue')
  const creation: BodyRule = { kind: 'file', authorize: request => requireRight(request, 'create') }
  const chunk: BodyRule = { kind: 'file', authorize }
  const ignored: BodyRule = { kind: 'parsed', maxBytes: defaultBodyLimit, authorize }
  const common = { ...endpoint.config, continuesLater: true, audit: 'UPLOAD' } as const
  const config = { ...common, operations: endpoint.operations.upload }
  const collectionConfig = { ...common, operations: endpoint.operations.collection }
  const describeServer = (_request: FastifyRequest, reply: FastifyReply) => sendCapabilities(endpoint.maxBytes, reply)
  app.options(collection, { config: collectionConfig }, describeServer)
  app.options(`${collection}/:id`, { config }, describeServer)

  app.post(collection, { config: { ...collectionConfig, body: creation } }, async (request, reply) => {
    requireVersion(request, reply)
    const record = await asTransfer(app, create(endpoint, request, reply))
    reply.header('Location', `${basePath}${splitUrl(request.url)[0]}/${record.id}`)
    return sendState(endpoint, reply.status(201), record)
  })

  const one = {
    url: `${collection}/:id`,
    async handler(request: FastifyRequest<{ Params: { id: string } }>, reply: FastifyReply) {
      const method = methodOf(request)
      requireVersion(request, reply)
      if (method === 'PATCH') {
        return sendState(endpoint, reply.status(204), await asTransfer(app, append(endpoint, request, reply)))
      }
      await using upload = await endpoint.open(request, request.params.id)
      if (method === 'HEAD') return sendFullState(endpoint, reply, upload.record)
      await asTransfer(app, upload.remove())
      return reply.status(204).send()
    },
  }
  app.route({ ...one, method: ['PATCH', 'POST'], config: { ...config, body: chunk } })
  app.route({ ...one, method: ['HEAD', 'DELETE'], config: { ...config, body: ignored } })
}

async function create(endpoint: TusEndpoint, request: FastifyRequest, reply: FastifyReply): Promise<UploadRecord> {
  const { headers } = request
  const metadata = headers['upload-metadata']?.toString() ?? ''
  await using upload = await endpoint.create(request, metadata, announcedSize(headers))
  if (headers['content-type'] === bodyType) await receiveBody(upload, request, reply)
  return upload.record
}

/** @throws UNSUPPORTED_MEDIA_TYPE, OFFSET_MISMATCH, INVALID_INPUT, and as `OpenUpload.write` */
async function append(
  endpoint: TusEndpoint,
  request: FastifyRequest<{ Params: { id: string } }>,
  reply: FastifyReply,
): Promise<UploadRecord> {
  const { headers, params } = request
  if (headers['content-type'] !== bodyType) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', `Send the bytes with "Content-Type: ${bodyType}".`)
  }
  const offset = requireOffset(headers)
  const announced = headers['content-length']
  const next = { offset, length: announced === undefined ? null : Number(announced) }
  await using upload = await endpoint.open(request, params.id, next)
  if (offset !== upload.record.received) throw new AppError('OFFSET_MISMATCH')
  const size = declaredSize(headers, upload.record)
  if (size !== undefined) await upload.setSize(size)
  await receiveBody(upload, request, reply)
  return upload.record
}

async function receiveBody(upload: OpenUpload, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const checksum = bodyChecksum(request.headers)
  continueOnRead(request.raw, reply)
  await upload.write(request.raw, requestSignal(request), checksum)
}

function sendCapabilities(maxBytes: number, reply: FastifyReply): FastifyReply {
  reply.header('Tus-Version', version)
  reply.header('Tus-Extension', extensions.join(','))
  reply.header('Tus-Checksum-Algorithm', checksumAlgorithms.join(','))
  if (maxBytes < Number.MAX_SAFE_INTEGER) reply.header('Tus-Max-Size', maxBytes)
  return reply.status(204).send()
}

/** Sends the offset, and either the path of the stored file or the time until which the upload can be continued. */
function sendState({ storedPath }: TusEndpoint, reply: FastifyReply, record: UploadRecord): FastifyReply {
  reply.header('Upload-Offset', record.received)
  if (record.storedPath === null) reply.header('Upload-Expires', record.expiresAt.toUTCString())
  else {
    const path = storedPath?.(record) ?? formatPath(record.storedPath as StoragePath)
    const segments = path.split('/')
    reply.header('Upload-Stored-Path', segments.map(encodeURIComponent).join('/'))
  }
  return reply.send()
}

function sendFullState(endpoint: TusEndpoint, reply: FastifyReply, record: UploadRecord): FastifyReply {
  reply.header('Cache-Control', 'no-store')
  if (record.size === null) reply.header('Upload-Defer-Length', '1')
  else reply.header('Upload-Length', record.size)
  if (record.metadata !== '') reply.header('Upload-Metadata', record.metadata)
  return sendState(endpoint, reply.status(200), record)
}

/** Clients that cannot send PATCH or DELETE name the method in a header of a POST. @throws METHOD_NOT_ALLOWED */
function methodOf({ method, headers }: FastifyRequest): string {
  if (method !== 'POST') return method
  const name = String(headers['x-http-method-override']).toUpperCase()
  const override = overrides.find(known => known === name)
  if (override) return override
  throw new AppError('METHOD_NOT_ALLOWED', 'This endpoint accepts HEAD, PATCH and DELETE.')
}

/** @throws PRECONDITION_FAILED */
function requireVersion({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers['tus-resumable'] === version) return
  reply.header('Tus-Version', version)
  throw new AppError('PRECONDITION_FAILED', `This server supports tus ${version}: send "Tus-Resumable: ${version}".`)
}
