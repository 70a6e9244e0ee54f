/** Stores the body of a request, or the files of a form. */
import { Readable } from 'node:stream'
import type { MultipartFile, MultipartValue } from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { formatPath, parseNewName } from '../../auth/path.ts'
import { requireScope } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { continueOnRead } from '../../http/connection/body-bounds.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import {
  fileBody,
  parseConflict,
  parseMimeType,
  parseModifiedAt,
  parseUploadConditions,
  requireNoConditions,
  requirePlainBody,
  settleConditional,
} from '../../http/content/body-headers.ts'
import { formatTag } from '../../http/content/conditions.ts'
import { requireNoDigest } from '../../http/content/digests.ts'
import { acceptForms, type FormLimits, formParts, type Parts, wholePart } from '../../http/content/form-parts.ts'
import { fromHttp } from '../../http/errors.ts'
import { parseQuery, quoteName, requireParameter } from '../../http/url.ts'
import type { FileEntry, Files, LocationInput } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import { downloadPath } from './download.ts'
import { onlyOnce, type RepeatableResponse, requireNoIdempotencyKey } from './idempotency.ts'
import { type StoredEntry, storedEntry, upload, uploadParameters } from './upload-operation.ts'

const parameterNames = Object.keys(uploadParameters) as (keyof typeof uploadParameters)[]

const formLimits: FormLimits = { parts: 1000, fields: 10, fieldSize: 16 * 1024 }

/**
 * Adds `POST ?providerId=&path=&conflict=` with the file as the body, or with `multipart/form-data`. Call it in a scope of
 * its own, because it adds a body parser.
 */
export async function uploadRoute(app: FastifyInstance, services: Services): Promise<void> {
  await acceptForms(app, formLimits)
  const body = {
    kind: 'file',
    authorize: ({ viewer }: FastifyRequest) => requireScope(viewer, 'write'),
  } as const
  const config = { continuesLater: true, body, audit: 'UPLOAD', operations: { POST: upload } } as const
  app.post('/api/upload/proxy', { config }, async (request, reply) => {
    requirePlainBody(request.headers)
    continueOnRead(request.raw, reply)
    const query = parseQuery(request.raw.url ?? '', uploadParameters)
    reply.status(201)
    if (request.isMultipart()) {
      requireNoDigest(request.headers)
      requireNoConditions(request.headers)
      requireNoIdempotencyKey(request.headers)
      return { entries: await asTransfer(app, uploadForm(services, request, query)) }
    }
    const once = {
      work: () => uploadRaw(services.files, request, query),
      authorize: () => services.files.requireMayUpload(request.viewer, locationOf(query)),
    }
    return asTransfer(app, onlyOnce(services.idempotency, request, reply, once))
  })
}

type UploadQuery = { [N in (typeof parameterNames)[number]]?: string }

function locationOf(query: UploadQuery): LocationInput {
  return {
    providerId: requireParameter(query.providerId, 'providerId'),
    path: requireParameter(query.path, 'path'),
  }
}

async function uploadRaw(files: Files, request: FastifyRequest, query: UploadQuery): Promise<RepeatableResponse> {
  const { conflict, condition, isConditional } = parseUploadConditions(request.headers, query.conflict)
  const modifiedAt = parseModifiedAt(query.modifiedAt)
  const input = { ...locationOf(query), ...fileBody(request), conflict, condition, modifiedAt }
  const storing = files.upload(request.viewer, input, requestSignal(request))
  const stored = await settleConditional(storing, isConditional)
  const parameters = new URLSearchParams({ providerId: stored.providerId, path: formatPath(stored.path) })
  return {
    headers: {
      Location: `${downloadPath}?${parameters}`,
      ...(stored.etag !== null && { ETag: formatTag(stored.etag) }),
    },
    body: storedEntry(stored),
  }
}

/**
 * Stores the files of a form one after the other, each as `<path>/<filename>`. The query can replace form fields. If one
 * file fails, those before it stay stored; `stored` in the error's extensions has their paths.
 * @throws INVALID_INPUT, INVALID_PATH, INCOMPLETE_BODY, as `Files.upload`
 */
async function uploadForm(
  { files }: Pick<Services, 'files'>,
  request: FastifyRequest,
  query: UploadQuery,
): Promise<StoredEntry[]> {
  const stored: StoredEntry[] = []
  const fields: UploadQuery = {}
  const parts = formParts(request)
  try {
    for (let part = await parts.take(); part; part = await parts.take()) {
      if (part.type === 'field') readField(fields, part, { query, isLate: stored.length > 0 })
      else stored.push(storedEntry(await storePart(files, request, { ...query, ...fields }, part, parts)))
    }
    if (stored.length === 0) throw new AppError('INVALID_INPUT', 'The form has no file.')
    return stored
  } catch (error) {
    if (stored.length === 0 || requestSignal(request).aborted) throw error
    const failed = fromHttp(error)
    const { message, cause, retryAfterMs } = failed
    const facts = { ...failed.facts, stored: stored.map(({ path }) => path) }
    throw new AppError(failed.reason, message, { cause: cause ?? failed, retryAfterMs, facts })
  }
}

function readField(
  fields: UploadQuery,
  { fieldname, value, valueTruncated }: MultipartValue,
  { query, isLate }: { query: UploadQuery; isLate: boolean },
): void {
  const name = parameterNames.find(known => known === fieldname)
  if (name === undefined) {
    throw invalid(`The form has no field ${quoteName(String(fieldname))}, only ${parameterNames.join(', ')}.`)
  }
  if (isLate) throw invalid(`The form field "${name}" comes after a file: send the fields first.`)
  if (fields[name] !== undefined) throw invalid(`The form field "${name}" appears more than once.`)
  if (query[name] !== undefined) throw invalid(`"${name}" appears both in the query and in the form.`)
  if (typeof value !== 'string' || valueTruncated) throw invalid(`The form field "${name}" is not text or is too long.`)
  fields[name] = value
}

async function storePart(
  files: Files,
  request: FastifyRequest,
  fields: UploadQuery,
  part: MultipartFile,
  parts: Parts,
): Promise<FileEntry> {
  const { filename } = part
  if (!fields.providerId) {
    throw invalid('The form field "providerId" is missing: send it before the files or in the query.')
  }
  if (!filename) throw invalid(`The file in the part "${String(part.fieldname).slice(0, 50)}" has no filename.`)
  const folder = fields.path ?? '/'
  const path = `${folder === '/' ? '' : folder}/${parseNewName(filename)}`
  const conflict = parseConflict(fields.conflict)
  const body = Readable.from(wholePart(part.file, parts))
  const mimeType = parseMimeType(part.mimetype)
  const modifiedAt = parseModifiedAt(fields.modifiedAt)
  const { providerId } = fields
  return files.upload(
    request.viewer,
    { providerId, path, conflict, body, mimeType, modifiedAt },
    requestSignal(request),
  )
}

function invalid(message: string): AppError {
  return new AppError('INVALID_INPUT', message)
}
