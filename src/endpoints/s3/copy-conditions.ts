import { authorize, needs } from '../../auth/needs.ts'
import { AppError } from '../../errors.ts'
import { isNotModified } from '../../http/content/download-conditions.ts'
import type { LocationInput } from '../../services/files/index.ts'
import { explainBucket } from './no-such-bucket.ts'
import type { ObjectCall } from './operation.ts'
import { tagOf } from './tags.ts'

const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const

/** Evaluates the conditions on the source of a copy, if there are any. @throws PRECONDITION_FAILED, as `authorize`, `Files.stat` */
export async function requireSource(call: ObjectCall, source: LocationInput): Promise<void> {
  const { services, request, signal } = call
  authorize(request.viewer, needs.copy, { ...source, toProviderId: call.providerId, toPath: call.path })
  const headers = Object.fromEntries(
    conditions.flatMap(name => {
      const value = request.headers[`x-amz-copy-source-${name}`]
      return value === undefined ? [] : [[name, String(value)]]
    }),
  )
  if (Object.keys(headers).length === 0) return
  const { etag, modifiedAt } = await services.files
    .stat(request.viewer, source, signal)
    .catch(error => Promise.reject(explainBucket(error, source.providerId)))
  if (isNotModified(headers, { etag: etag === null ? null : tagOf(etag), modifiedAt })) {
    throw new AppError('PRECONDITION_FAILED', 'The source is the version that the request excludes.')
  }
}
