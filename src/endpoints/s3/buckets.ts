/** Operations on buckets, which are the providers that the viewer can access. */

import type { Viewer } from '../../auth/viewer.ts'
import { s3Region } from '../../http/s3-target.ts'
import { explainBucket, S3Error } from './errors.ts'
import { parseLimit } from './list-objects.ts'
import type { BucketCall, S3Call, S3Operation } from './operation.ts'
import { element, result, sendXml, type Xml } from './xml.ts'

export const listBuckets: S3Operation<S3Call> = {
  method: 'GET',
  takes: ['max-buckets', 'prefix', 'continuation-token', 'bucket-region'],
  async run({ services, request, reply, query }) {
    const [prefix, after] = [query.get('prefix') ?? '', query.get('continuation-token') ?? '']
    const limit = query.has('max-buckets') ? parseLimit(query, 'max-buckets') : Number.POSITIVE_INFINITY
    if (limit === 0) throw new S3Error('InvalidArgument', '"max-buckets" is a number from 1.')
    const isHere = (query.get('bucket-region') ?? s3Region) === s3Region
    const records = await services.providers.list(request.viewer)
    const found = records
      .filter(({ slug }) => isHere && slug.startsWith(prefix) && slug > after)
      .toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const buckets = shown.map(({ slug, createdAt }) =>
      element('Bucket', [element('Name', slug), element('CreationDate', createdAt.toISOString())]),
    )
    return sendXml(
      reply,
      result('ListAllMyBucketsResult', [
        element('Owner', request.viewer ? nameOf(request.viewer.member) : []),
        element('Buckets', buckets),
        ...(prefix === '' ? [] : [element('Prefix', prefix)]),
        ...(last && found.length > shown.length ? [element('ContinuationToken', last.slug)] : []),
      ]),
    )
  },
}

function nameOf({ userId, email }: Viewer['member']): Xml[] {
  return [element('ID', userId), element('DisplayName', email)]
}

export const headBucket: S3Operation<BucketCall> = {
  method: 'HEAD',
  async run({ services, request, reply, providerId }) {
    await services.providers.get(request.viewer, providerId)
    return reply.header('x-amz-bucket-region', s3Region).send()
  },
}

/** Some programs create their bucket before they use it. The error for an existing bucket tells them that they can continue. */
export const createBucket: S3Operation<BucketCall> = {
  method: 'PUT',
  async run({ services, request, providerId }) {
    await services.providers.get(request.viewer, providerId).catch(error => {
      if (explainBucket(error, providerId) === error) throw error
      throw new S3Error('NotImplemented', 'Buckets are providers: connect one with this slug in the console.', error)
    })
    throw new S3Error('BucketAlreadyOwnedByYou', 'The bucket exists, and you can use it.')
  },
}

/** An empty location is the region us-east-1. */
export const getBucketLocation = emptyResult('location', 'LocationConstraint')

/** Earlier versions expire, so only a bucket with Object Lock says that it has them: clients require it there. */
export const getBucketVersioning: S3Operation<BucketCall> = {
  method: 'GET',
  selects: ['versioning'],
  async run({ services, request, reply, providerId }) {
    await services.providers.get(request.viewer, providerId)
    const isOn = (await services.objectLocks.settings(request.viewer, providerId)) !== null
    return sendXml(reply, result('VersioningConfiguration', isOn ? [element('Status', 'Enabled')] : []))
  },
}

/** Returns an operation whose result is empty for each bucket that the viewer can access. */
function emptyResult(parameter: string, root: string): S3Operation<BucketCall> {
  return {
    method: 'GET',
    selects: [parameter],
    async run({ services, request, reply, providerId }) {
      await services.providers.get(request.viewer, providerId)
      return sendXml(reply, result(root, []))
    },
  }
}
