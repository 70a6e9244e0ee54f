/**
 * The S3 front end: providers as buckets, at `/s3` and at the S3 domain
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html). A request enters through `open`, which parses its
 * address, finds its operation and authorizes it; the operation calls a service and sends the response.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireViewer } from '../../auth/viewer.ts'
import { defaultBodyLimit, inTwoSteps, type Serve } from '../../http/admission.ts'
import { authenticateUnknownBelow } from '../../http/authentication.ts'
import { continueOnRead } from '../../http/connection/body-bounds.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { acceptForms } from '../../http/content/form-parts.ts'
import { formatErrorsBelow } from '../../http/errors.ts'
import { type S3Settings, s3Path } from '../../http/s3-target.ts'
import type { Services } from '../../services/index.ts'
import { authenticateSigned } from './authenticate.ts'
import { maxXmlBytes } from './body.ts'
import { createBucket, getBucketLocation, getBucketVersioning, headBucket, listBuckets } from './buckets.ts'
import { quoteTags } from './conditions.ts'
import { deleteObject, deleteObjects } from './delete-objects.ts'
import { explainBucket, formatS3Error, S3Error } from './errors.ts'
import { getObject, getObjectTagging, headObject } from './get-object.ts'
import { listObjectsV1, listObjectsV2 } from './list-objects.ts'
import { listMultipartUploads, listParts } from './list-uploads.ts'
import { listObjectVersions } from './list-versions.ts'
import { abortMultipartUpload, completeMultipartUpload, createMultipartUpload, uploadPart } from './multipart.ts'
import {
  getObjectLegalHold,
  getObjectLockConfiguration,
  getObjectRetention,
  hasLockDocument,
  putObjectLegalHold,
  putObjectLockConfiguration,
  putObjectRetention,
} from './object-lock.ts'
import { type BucketCall, findOperation, type ObjectCall, type S3Call, type S3Operation } from './operation.ts'
import { formLimits, postObject } from './post-form.ts'
import { putObject } from './put-object.ts'
import { addHoistedHeaders, parseAddress, parseKey, requireOwner, targetOf } from './request.ts'

const onService: readonly S3Operation<S3Call>[] = [listBuckets]
const onBucket: readonly S3Operation<BucketCall>[] = [
  headBucket,
  createBucket,
  getBucketLocation,
  getBucketVersioning,
  getObjectLockConfiguration,
  putObjectLockConfiguration,
  listObjectVersions,
  listObjectsV2,
  listObjectsV1,
  deleteObjects,
  listMultipartUploads,
]
const onObject: readonly S3Operation<ObjectCall>[] = [
  getObject,
  headObject,
  getObjectTagging,
  getObjectRetention,
  putObjectRetention,
  getObjectLegalHold,
  putObjectLegalHold,
  putObject,
  deleteObject,
  createMultipartUpload,
  uploadPart,
  completeMultipartUpload,
  abortMultipartUpload,
  listParts,
]

export async function registerS3(app: FastifyInstance, services: Services, settings: S3Settings): Promise<void> {
  formatErrorsBelow(app, s3Path, formatS3Error)
  app.decorateRequest('signature', null)
  const authenticate = authenticateSigned(services, settings)
  authenticateUnknownBelow(app, s3Path, authenticate)
  const common = { authenticate, slugOf: (request: FastifyRequest) => targetOf(request).bucket }
  const { authorize, handler } = inTwoSteps((request, reply) => open(services, request, reply))
  const parsed = { kind: 'parsed', maxBytes: defaultBodyLimit, authorize } as const
  const below = `${s3Path}/*`
  const objectBody = { ...parsed, isFile: (request: FastifyRequest) => !hasLockDocument(request) }
  const upload = { ...common, audit: 'UPLOAD', body: objectBody, continuesLater: true } as const
  app.route({ method: 'PUT', url: below, config: upload, handler })
  const config = { ...common, body: parsed }
  app.route({ method: ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'], url: s3Path, config, handler })
  app.route({ method: ['GET', 'HEAD', 'DELETE'], url: below, config, handler })
  await app.register(async scope => {
    await acceptForms(scope, formLimits)
    const body = { ...parsed, maxBytes: maxXmlBytes, isFile: isForm }
    scope.route({ method: 'POST', url: below, config: { ...common, body }, handler })
  })
}

/** Finds and authorizes the operation. A form has its credential in its fields. */
async function open(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<Serve> {
  reply.header('x-amz-request-id', request.id)
  const posted = isForm(request) ? targetOf(request) : null
  const formBucket = posted?.key === '' ? posted.bucket : null
  if (formBucket !== null) return () => postObject(services, request, reply, formBucket)
  const viewer = requireViewer(request.viewer)
  const { bucket, key, query, parameters } = parseAddress(request)
  addHoistedHeaders(request.headers, parameters)
  requireOwner(request.headers, viewer)
  quoteTags(request.headers)
  const call: S3Call = { services, request, reply, query, signal: requestSignal(request) }
  if (bucket === null) {
    const operation = operationOf(onService, call)
    return () => operation.run(call)
  }
  const operation = key === '' ? operationOf(onBucket, call) : operationOf(onObject, call)
  const object = key === '' ? null : parseKey(key)
  const providerId = await services.providers.idOf(viewer, bucket)
  request.named = { location: { providerId, path: object?.path } }
  const at = { ...call, bucket, providerId, key, path: object?.path ?? '/', isFolder: object?.isFolder ?? true }
  const explained = (error: unknown) => {
    throw explainBucket(error, providerId)
  }
  try {
    operation.authorize?.(at)
  } catch (error) {
    explained(error)
  }
  // The body is read before the operation runs.
  if (request.method === 'PUT' && hasLockDocument(request)) continueOnRead(request.raw, reply)
  return () => operation.run(at).catch(explained)
}

/** Returns whether the body is a form, which is sent to a bucket. */
function isForm({ method, headers }: FastifyRequest): boolean {
  return method === 'POST' && /^multipart\/form-data\s*;/i.test(headers['content-type'] ?? '')
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
