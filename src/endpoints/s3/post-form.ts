/**
 * Stores the file of an HTML form, whose policy the owner of a key has signed (PostObject). The file is the last field that
 * counts.
 */
import { Readable } from 'node:stream'
import type { MultipartFile, MultipartValue } from '@fastify/multipart'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { namedProvider, originOf } from '../../http/authentication.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { parseMimeType } from '../../http/content/body-headers.ts'
import { formatTag } from '../../http/content/conditions.ts'
import { type FormLimits, formParts, type Parts, wholePart } from '../../http/content/form-parts.ts'
import { withTimeout } from '../../lib/timeout.ts'
import type { Services } from '../../services/index.ts'
import { withChecksum } from './body.ts'
import { listedTag } from './conditions.ts'
import { explainBucket, S3Error } from './errors.ts'
import { type Policy, parsePolicy, requireAllowed, type SizeRange } from './form-policy.ts'
import { parseModifiedAt, requireStorable } from './metadata.ts'
import { parseLock } from './object-lock.ts'
import { parseKey, requireKeyLength, targetOf } from './request.ts'
import { encodeKey } from './signature.ts'
import { parseFormSignature, verifyFormSignature } from './verify-signature.ts'
import { element, result, sendXml } from './xml.ts'

/** Fields that have another name as headers. */
const headerNames: Readonly<Record<string, string>> = {
  acl: 'x-amz-acl',
  tagging: 'x-amz-tagging',
}
const anySize: SizeRange = { min: 0, max: Number.MAX_SAFE_INTEGER }

export const formLimits: FormLimits = { parts: 100, fields: 60, files: 1, fieldSize: 32 * 1024 }
/** Bytes of all fields together. */
const maxFields = 64 * 1024

export async function postObject(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  bucket: string,
): Promise<unknown> {
  if (request.signature) throw new S3Error('InvalidRequest', 'Sign a form with its policy, not in its headers.')
  const form = await readForm(request)
  const policy = request.viewer ? null : await authenticate(services, request, form)
  const fields = new Map([...form.fields, ['bucket', bucket], ['key', keyOf(form)]])
  if ((form.fields.get('bucket') ?? bucket) !== bucket) throw invalid('The field "bucket" names another bucket.')
  if (policy) requireAllowed(policy, fields, Date.now())
  const sizes = policy?.sizes ?? anySize
  return asTransfer(request.server, store(services, request, reply, { form, fields, sizes, bucket }))
}

interface ObjectForm {
  /** By their names in lowercase. */
  fields: Map<string, string>
  file: MultipartFile
  parts: Parts
}

/** Reads the fields up to the file. They arrive before the client is known, so all of them together have a deadline. @throws S3Error, INCOMPLETE_BODY */
function readForm(request: FastifyRequest): Promise<ObjectForm> {
  const { bodyTimeout } = request.server
  const late = () => new AppError('INCOMPLETE_BODY', `The fields did not arrive within ${bodyTimeout / 1000} seconds.`)
  return withTimeout(read(request), bodyTimeout, late)
}

async function read(request: FastifyRequest): Promise<ObjectForm> {
  const parts = formParts(request)
  const fields = new Map<string, string>()
  let bytes = 0
  for (let part = await parts.take(); part; part = await parts.take()) {
    if (part.type === 'file') {
      if (part.fieldname !== 'file') throw invalid('The file of the form must be in the field "file".')
      return { fields, file: part, parts }
    }
    const [name, value] = fieldOf(part)
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
    if (bytes > maxFields) throw invalid(`The fields before the file can have at most ${maxFields} bytes.`)
    if (fields.has(name)) throw invalid('A field of the form appears more than once.')
    fields.set(name, value)
  }
  throw invalid('The form has no file: it must be in the field "file", after all others.')
}

function fieldOf({ fieldname, value, valueTruncated }: MultipartValue): [name: string, value: string] {
  // The parser accepts a part without a name, which its types do not say.
  if (typeof fieldname !== 'string') throw invalid('A field of the form has no name.')
  if (typeof value !== 'string' || valueTruncated) throw invalid('A field of the form is not text or is too long.')
  return [fieldname.toLowerCase(), value]
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: S3 writes the variable in this way
const fileNameVariable = '${filename}'

/** Returns the key, in which `${filename}` stands for the name of the file. @throws S3Error */
function keyOf({ fields, file }: ObjectForm): string {
  const key = fields.get('key') ?? ''
  const name = (file.filename ?? '').split(/[/\\]/).at(-1) ?? ''
  if (key === '') throw invalid('The form needs the field "key".')
  const pieces = key.split(fileNameVariable)
  const names = pieces.length - 1
  if (name === '' && names > 0) throw invalid('The file of the form has no name.')
  // Thousands of variables and a long name would make a text of 50 MB.
  requireKeyLength(Buffer.byteLength(pieces.join('')) + names * Buffer.byteLength(name))
  return pieces.join(name)
}

/** Authenticates the form by its signature. Returns the policy that is signed. */
async function authenticate({ credentials }: Services, request: FastifyRequest, form: ObjectForm): Promise<Policy> {
  const signature = parseFormSignature(form.fields)
  if (!signature) {
    throw new AppError('CREDENTIAL_REQUIRED', 'Send the form with a policy and its signature, or with an API key.')
  }
  const verify = (secrets: () => readonly string[]) => verifyFormSignature(signature, secrets(), Date.now())
  const { accessKeyId } = signature
  const { viewer } = await credentials.authenticateSigned(
    accessKeyId,
    verify,
    originOf(request),
    namedProvider(request),
  )
  request.viewer = viewer
  return parsePolicy(signature.policy)
}

interface StoringForm {
  form: ObjectForm
  fields: ReadonlyMap<string, string>
  sizes: SizeRange
  bucket: string
}

async function store(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { form, fields, sizes, bucket }: StoringForm,
): Promise<unknown> {
  const viewer: Viewer = requireViewer(request.viewer)
  const headers = Object.fromEntries([...fields].map(([name, value]) => [headerNames[name] ?? name, value]))
  requireStorable(headers)
  const modifiedAt = parseModifiedAt(headers)
  const key = fields.get('key') ?? ''
  const { path, isFolder } = parseKey(key)
  if (isFolder) throw invalid('A key that ends in "/" is a folder, which has no content.')
  const mimeType = parseMimeType(fields.get('content-type'))
  const file = Readable.from(withSizes(wholePart(form.file.file, form.parts), sizes), { objectMode: false })
  const { body } = await withChecksum(file, fields)
  const providerId = await services.providers.idOf(viewer, bucket)
  const input = { providerId, path, conflict: 'REPLACE' as const, body, mimeType, modifiedAt, overLocked: true }
  const signal = requestSignal(request)
  const upload = () => services.files.upload(viewer, input, signal)
  const lock = parseLock(headers)
  if (lock) await services.objectLocks.requireMayLock(viewer, { providerId, path }, lock)
  const stored = await services.objectLocks
    .storing(viewer, { providerId, path }, lock, upload, { signal })
    .catch(error => Promise.reject(explainBucket(error, providerId)))
  return respond(request, reply, { fields, bucket, key, tag: listedTag(stored) })
}

/** @throws S3Error if the file has another size */
async function* withSizes(
  chunks: AsyncIterable<Buffer>,
  { min, max }: SizeRange,
): AsyncGenerator<Buffer, void, undefined> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > max) throw new S3Error('EntityTooLarge', `The policy of the form allows at most ${max} bytes.`)
    yield chunk
  }
  if (size < min) throw new S3Error('EntityTooSmall', `The policy of the form requires at least ${min} bytes.`)
}

function respond(
  request: FastifyRequest,
  reply: FastifyReply,
  { fields, bucket, key, tag }: { fields: ReadonlyMap<string, string>; bucket: string; key: string; tag: string },
): FastifyReply {
  reply.header('ETag', formatTag(tag))
  const target = redirectOf(fields.get('success_action_redirect') ?? fields.get('redirect'))
  if (target) {
    for (const [name, value] of Object.entries({ bucket, key, etag: formatTag(tag) })) {
      target.searchParams.append(name, value)
    }
    return reply.status(303).header('Location', target.href).send()
  }
  const location = locationOf(request, key)
  reply.header('Location', location)
  const status = fields.get('success_action_status')
  if (status !== '201') return reply.status(status === '200' ? 200 : 204).send()
  return sendXml(
    reply.status(201),
    result('PostResponse', [
      element('Location', location),
      element('Bucket', bucket),
      element('Key', key),
      element('ETag', formatTag(tag)),
    ]),
  )
}

/** S3 ignores an address to which it cannot redirect. */
function redirectOf(text: string | undefined): URL | null {
  if (text === undefined || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return null
  return new URL(text)
}

/** Returns the address of the object below the address of the form. */
function locationOf(request: FastifyRequest, key: string): string {
  const { host, signedPath } = targetOf(request)
  return `${request.protocol}://${host}${signedPath.replace(/\/$/, '')}/${encodeKey(key)}`
}

function invalid(message: string): S3Error {
  return new S3Error('InvalidArgument', message)
}
