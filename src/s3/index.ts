/** The S3 front end: providers as buckets, at `/s3` (https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireViewer } from '../auth/viewer.ts'
import { authenticateUnknownBelow } from '../http/authentication.ts'
import { bufferBodies, streamBodies } from '../http/body-parsers.ts'
import { requestSignal } from '../http/connection/client-abort.ts'
import { acceptForms } from '../http/content/form-parts.ts'
import { formatErrorsBelow } from '../http/error-formats.ts'
import { type S3Settings, s3Path } from '../http/s3-target.ts'
import type { Services } from '../services/index.ts'
import { parseAddress, targetOf } from './address.ts'
import { authenticateSigned } from './authenticate.ts'
import { createBucket, getBucketLocation, getBucketVersioning, headBucket, listBuckets } from './buckets.ts'
import { deleteObject, deleteObjects } from './delete-objects.ts'
import { formatS3Error } from './error-format.ts'
import { S3Error } from './failure.ts'
import { postObject } from './form/post-object.ts'
import { formLimits } from './form/read-form.ts'
import { getObject, headObject } from './get-object.ts'
import { addHoistedHeaders } from './hoisted-headers.ts'
import { parseKey } from './keys.ts'
import { listObjectsV1, listObjectsV2 } from './list-objects.ts'
import { listMultipartUploads, listParts } from './list-uploads.ts'
import { abortMultipartUpload, completeMultipartUpload, createMultipartUpload } from './multipart.ts'
import { explainBucket } from './no-such-bucket.ts'
import { getObjectTagging } from './object-tagging.ts'
import { type BucketCall, findOperation, type ObjectCall, type S3Call, type S3Operation } from './operation.ts'
import { requireOwner } from './owner.ts'
import { putObject } from './put-object.ts'
import { quoteTags } from './tags.ts'
import { uploadPart } from './upload-part.ts'
import { maxXmlBytes } from './xml-body.ts'

const onService: readonly S3Operation<S3Call>[] = [listBuckets]
const onBucket: readonly S3Operation<BucketCall>[] = [
  headBucket,
  createBucket,
  getBucketLocation,
  getBucketVersioning,
  listObjectsV2,
  listObjectsV1,
  deleteObjects,
  listMultipartUploads,
]
const onObject: readonly S3Operation<ObjectCall>[] = [
  getObject,
  headObject,
  getObjectTagging,
  putObject,
  deleteObject,
  createMultipartUpload,
  uploadPart,
  completeMultipartUpload,
  abortMultipartUpload,
  listParts,
]

/** Adds the routes: those that read objects from their bodies in a scope that parses none. */
export async function registerS3(app: FastifyInstance, services: Services, settings: S3Settings): Promise<void> {
  formatErrorsBelow(app, s3Path, formatS3Error)
  app.decorateRequest('signature', null)
  const authenticate = authenticateSigned(services, settings)
  authenticateUnknownBelow(app, s3Path, authenticate)
  const common = { authenticate, slugOf: (request: FastifyRequest) => targetOf(request).bucket }
  const response = {
    onRequest: requireCredential,
    async handler(request: FastifyRequest, reply: FastifyReply) {
      reply.header('x-amz-request-id', request.id)
      return run(services, request, reply)
    },
  }
  const below = `${s3Path}/*`
  await app.register(async scope => {
    streamBodies(scope)
    const config = { ...common, audit: 'UPLOAD', streamsBody: true, continuesLater: true } as const
    scope.route({ method: 'PUT', url: below, config, ...response })
  })
  await app.register(async scope => {
    bufferBodies(scope)
    const options = { config: common, ...response }
    scope.route({ method: ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'], url: s3Path, ...options })
    scope.route({ method: ['GET', 'HEAD', 'DELETE'], url: below, ...options })
  })
  await app.register(async scope => {
    bufferBodies(scope)
    await acceptForms(scope, formLimits)
    const config = { ...common, streamsBody: isForm }
    scope.route({ method: 'POST', url: below, bodyLimit: maxXmlBytes, config, ...response })
  })
}

/** Refuses strangers before their bodies are read. A form has its credential in its fields. */
async function requireCredential(request: FastifyRequest): Promise<void> {
  if (!isForm(request)) requireViewer(request.viewer)
}

async function run(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const posted = isForm(request) ? targetOf(request) : null
  // The credential of a form is in its fields.
  if (posted && posted.bucket !== null && posted.key === '') return postObject(services, request, reply, posted.bucket)
  const viewer = requireViewer(request.viewer)
  const { bucket, key, query, parameters } = parseAddress(request)
  addHoistedHeaders(request.headers, parameters)
  requireOwner(request.headers, viewer)
  quoteTags(request.headers)
  const call: S3Call = { services, request, reply, query, signal: requestSignal(request) }
  if (bucket === null) return operationOf(onService, call).run(call)
  const runAt = operationAt(key, call)
  const providerId = await services.providers.idOf(viewer, bucket)
  request.named = { location: { providerId, path: key === '' ? undefined : parseKey(key).path } }
  try {
    return await runAt({ ...call, bucket, providerId })
  } catch (error) {
    throw explainBucket(error, providerId)
  }
}

/** Returns whether the body is a form, which is sent to a bucket. */
function isForm({ method, headers }: FastifyRequest): boolean {
  return method === 'POST' && /^multipart\/form-data\s*;/i.test(headers['content-type'] ?? '')
}

/** Returns the operation on an object or, for an empty key, on the bucket. @throws S3Error */
function operationAt(key: string, call: S3Call): (at: BucketCall) => Promise<unknown> {
  if (key === '') return at => operationOf(onBucket, call).run(at)
  const [operation, object] = [operationOf(onObject, call), parseKey(key)]
  return at => operation.run({ ...at, key, ...object })
}

/** @throws S3Error if this server does not have the operation */
function operationOf<Call>(operations: readonly S3Operation<Call>[], { request, query }: S3Call): S3Operation<Call> {
  const found = findOperation(operations, request.method, query)
  if (found) {
    request.refusedAction = found.audit ?? null
    return found
  }
  throw new S3Error('NotImplemented', 'This server does not have this operation: its documentation lists those it has.')
}
