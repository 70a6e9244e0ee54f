import type { Readable } from 'node:stream'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { s3Adapter } from '../../adapters/backends/s3/index.ts'
import { testHost } from '../../adapters/conformance/index.ts'
import { s3Server } from '../../test/servers/radosgw.ts'
import { drain, type OpenPair, sdkParts, source } from './pair.ts'

export const s3: OpenPair = async place => {
  const { endpoint, region, accessKeyId, secretAccessKey, client, newBucket } = await s3Server(place)
  const bucket = await newBucket()
  const config = { bucket, endpoint, region, accessKeyId, secretAccessKey, prefix: '', forcePathStyle: true }
  const object = { Bucket: bucket, Key: 'sdk' }
  const { size: partSize, atOnce: queueSize } = sdkParts
  return {
    provider: await s3Adapter.open(config, testHost()),
    client: 'the SDK',
    transfers: {
      upload: () => new Upload({ client, params: { ...object, Body: source() }, partSize, queueSize }).done(),
      download: async () => drain((await client.send(new GetObjectCommand(object))).Body as Readable),
    },
  }
}
