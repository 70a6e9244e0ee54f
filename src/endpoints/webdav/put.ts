/** PUT: RFC 4918, section 9.7. */
import { awaitsContinue, continueOnRead } from '../../http/connection/expect-continue.ts'
import { parseContentLength, parseMimeType, requirePlainBody } from '../../http/content/body-headers.ts'
import { parseDigests } from '../../http/content/digests.ts'
import { parseUploadConditions, settleConditional } from '../../http/content/upload-conditions.ts'
import { formatTag, wholeSeconds } from '../../http/content/validators.ts'
import type { FileEntry } from '../../services/files/index.ts'
import type { DavRequest } from './dav-request.ts'
import { davError } from './errors.ts'
import { formatOcChecksum, parseOcChecksum, parseOcMtime } from './oc-headers.ts'
import { entryOrNull, requireParent } from './parent.ts'
import { requirePreconditions } from './preconditions.ts'

export async function put(dav: DavRequest): Promise<void> {
  const { request, reply, viewer, target, options, signal } = dav
  const { headers, raw } = request
  requirePlainBody(headers)
  continueOnRead(raw, reply)
  const modifiedAt = parseOcMtime(headers)
  const { conflict, condition, isConditional } = parseUploadConditions(headers, undefined)
  const digests = { ...parseDigests(headers), ...parseOcChecksum(headers) }
  // Most files are new, so the parent is looked up at the same time.
  const [existing, parentFailure] = await Promise.all([
    entryOrNull(dav, target),
    requireParent(dav, target).then(
      () => null,
      (error: unknown) => ({ error }),
    ),
  ])
  if (existing?.kind === 'directory') throw davError(405, 'NOT_A_FILE', 'This is a folder: a file cannot replace it.')
  await requirePreconditions(dav, [{ location: target, isTree: false, isMember: !existing }])
  if (!existing && parentFailure) throw parentFailure.error
  const storing = options.services.files.upload(
    viewer,
    {
      ...target,
      conflict: isConditional ? conflict : 'REPLACE',
      condition,
      body: raw,
      size: parseContentLength(headers),
      mimeType: parseMimeType(headers['content-type']),
      modifiedAt,
      digests,
      isAwaiting: awaitsContinue(raw),
    },
    signal,
  )
  const stored = await settleConditional(storing, isConditional)
  reply
    .status(existing ? 204 : 201)
    .headers({
      ...(stored.etag !== null && { ETag: formatTag(stored.etag), 'OC-ETag': formatTag(stored.etag) }),
      ...formatOcChecksum(stored.checksums),
      ...(modifiedAt && keeps(stored, modifiedAt) && { 'X-OC-MTime': 'accepted' }),
    })
    .send()
}

/** Returns whether the file has the time, to the second. */
function keeps({ modifiedAt }: FileEntry, wanted: Date): boolean {
  return modifiedAt !== null && wholeSeconds(modifiedAt) === wholeSeconds(wanted)
}
