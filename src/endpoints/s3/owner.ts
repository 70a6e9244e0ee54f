/** Every bucket and object is presented as owned by the user whose credential the request has. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { element, type Xml } from './xml.ts'

const expectations = ['x-amz-expected-bucket-owner', 'x-amz-source-expected-bucket-owner']

/** @throws PROVIDER_NOT_ALLOWED if the request expects another owner of its buckets */
export function requireOwner(headers: IncomingHttpHeaders, { member }: Viewer): void {
  for (const name of expectations) {
    const expected = headers[name]
    if (expected !== undefined && expected !== member.userId) {
      throw new AppError('PROVIDER_NOT_ALLOWED', `The owner of the bucket is not the one in ${name}.`)
    }
  }
}

/** Returns the owner without a name, because a presigned URL may show the list to anyone. */
export function ownerOf(viewer: Viewer | null): Xml[] {
  return viewer ? [element('Owner', [element('ID', viewer.member.userId)])] : []
}
