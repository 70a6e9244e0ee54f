import type { FastifyInstance, FastifyRequest } from 'fastify'
import { formatPath } from '../../auth/path.ts'
import { requireScope } from '../../auth/policy.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { awaitsContinue, continueOnRead } from '../../http/connection/expect-continue.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import {
  parseContentLength,
  parseMimeType,
  parseModifiedAt,
  requirePlainBody,
} from '../../http/content/body-headers.ts'
import { parseDigests, requireNoDigest } from '../../http/content/digests.ts'
import { acceptForms } from '../../http/content/form-parts.ts'
import { parseUploadConditions, requireNoConditions, settleConditional } from '../../http/content/upload-conditions.ts'
import { formatTag } from '../../http/content/validators.ts'
import { parseQuery, requireParameter } from '../../http/query.ts'
import type { Files, LocationInput } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import { downloadPath } from './download.ts'
import { onlyOnce, type RepeatableResponse, requireNoIdempotencyKey } from './idempotency.ts'
import { storedEntry } from './stored-entry.ts'
import { formLimits, uploadForm } from './upload-form.ts'
import { upload, uploadParameters } from './upload-operation.ts'

const parameterNames = Object.keys(uploadParameters) as (keyof typeof uploadParameters)[]

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
    const query = parseQuery(request.raw.url ?? '', parameterNames)
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
  const { headers, raw } = request
  const { conflict, condition, isConditional } = parseUploadConditions(headers, query.conflict)
  const storing = files.upload(
    request.viewer,
    {
      ...locationOf(query),
      conflict,
      condition,
      body: raw,
      size: parseContentLength(headers),
      mimeType: parseMimeType(headers['content-type']),
      modifiedAt: parseModifiedAt(query.modifiedAt),
      digests: parseDigests(headers),
      isAwaiting: awaitsContinue(raw),
    },
    requestSignal(request),
  )
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
