/** Operations on buckets, which are the providers that the viewer can access. */
import { s3Region } from '../auth/s3-keys.ts'
import type { BucketCall, S3Call, S3Operation } from './operation.ts'
import { sendXml } from './send.ts'
import { element, result } from './xml.ts'

export const listBuckets: S3Operation<S3Call> = {
  method: 'GET',
  takes: ['max-buckets', 'prefix', 'continuation-token', 'bucket-region'],
  async run({ services, request, reply }) {
    const { viewer } = request
    const records = await services.providers.list(viewer)
    const owner = viewer ? [element('ID', viewer.member.userId), element('DisplayName', viewer.member.email)] : []
    const buckets = records
      .toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
      .map(({ slug, createdAt }) =>
        element('Bucket', [element('Name', slug), element('CreationDate', createdAt.toISOString())]),
      )
    return sendXml(reply, result('ListAllMyBucketsResult', [element('Owner', owner), element('Buckets', buckets)]))
  },
}

export const headBucket: S3Operation<BucketCall> = {
  method: 'HEAD',
  async run({ services, request, reply, providerId }) {
    await services.providers.get(request.viewer, providerId)
    return reply.header('x-amz-bucket-region', s3Region).send()
  },
}

/** An empty location is the region us-east-1. */
export const getBucketLocation: S3Operation<BucketCall> = {
  method: 'GET',
  selects: ['location'],
  async run({ services, request, reply, providerId }) {
    await services.providers.get(request.viewer, providerId)
    return sendXml(reply, result('LocationConstraint', []))
  },
}

/** Buckets have no versions. */
export const getBucketVersioning: S3Operation<BucketCall> = {
  method: 'GET',
  selects: ['versioning'],
  async run({ services, request, reply, providerId }) {
    await services.providers.get(request.viewer, providerId)
    return sendXml(reply, result('VersioningConfiguration', []))
  },
}
