import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formatPath } from '../auth/path.ts'
import { requireScope } from '../auth/policy.ts'
import type { Files } from '../services/files/index.ts'
import type { Services } from '../services/index.ts'
import { requestSignal } from './abort.ts'
import { asTransfer } from './close.ts'
import { parseDigests, requireNoDigest } from './content-digest.ts'
import { downloadPath } from './download.ts'
import { continueOnRead } from './expect.ts'
import { parseQuery, requireParameter } from './query.ts'
import { type StoredEntry, storedEntry } from './stored-entry.ts'
import { parseContentLength, parseMimeType, requirePlainBody } from './upload-body.ts'
import { asPrecondition, parseUploadConditions, requireNoConditions } from './upload-conditions.ts'
import { formLimits, uploadForm } from './upload-form.ts'
import { formatTag } from './validators.ts'

/**
 * `POST ?providerId=&path=&conflict=` with the file as the body, or with `multipart/form-data`. In a scope of its own:
 * here every type of body is bytes that nobody parses.
 */
export async function uploadRoute(app: FastifyInstance, services: Services): Promise<void> {
  app.removeAllContentTypeParsers()
  await app.register(multipart, { preservePath: true, limits: formLimits })
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.post('/api/upload/proxy', { config: { continuesLater: true, audit: 'UPLOAD' } }, async (request, reply) => {
    requireScope(request.viewer, 'write')
    requirePlainBody(request.headers)
    continueOnRead(request.raw, reply)
    const query = parseQuery(request.raw.url ?? '', ['providerId', 'path', 'conflict'])
    reply.status(201)
    if (request.isMultipart()) {
      requireNoDigest(request.headers)
      requireNoConditions(request.headers)
      return { entries: await asTransfer(app, uploadForm(services, request, query)) }
    }
    return asTransfer(app, uploadRaw(services.files, request, reply, query))
  })
}

async function uploadRaw(
  files: Files,
  request: FastifyRequest,
  reply: FastifyReply,
  query: { providerId?: string; path?: string; conflict?: string },
): Promise<StoredEntry> {
  const { headers, raw } = request
  const { conflict, condition, isConditional } = parseUploadConditions(headers, query.conflict)
  const storing = files.upload(
    request.viewer,
    {
      providerId: requireParameter(query.providerId, 'providerId'),
      path: requireParameter(query.path, 'path'),
      conflict,
      condition,
      body: raw,
      size: parseContentLength(headers),
      mimeType: parseMimeType(headers['content-type']),
      digests: parseDigests(headers),
    },
    requestSignal(request),
  )
  const stored = await (isConditional ? storing.catch(error => Promise.reject(asPrecondition(error))) : storing)
  const place = new URLSearchParams({ providerId: stored.providerId, path: formatPath(stored.path) })
  reply.header('Location', `${downloadPath}?${place}`)
  if (stored.etag !== null) reply.header('ETag', formatTag(stored.etag))
  return storedEntry(stored)
}
