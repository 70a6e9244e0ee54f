/**
 * One S3 server per test run: Ceph's radosgw (radosgw-host.ts), with real signatures. The environment can name another
 * server: TEST_S3_ENDPOINT, TEST_S3_ACCESS_KEY_ID, TEST_S3_SECRET_ACCESS_KEY and optionally TEST_S3_REGION.
 */
import { randomUUID } from 'node:crypto'
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3'
import { type RunServer, serverOfThisRun } from './run.ts'

/** The record that the host publishes. */
export interface S3Account {
  endpoint: string
  accessKeyId: string
  secretAccessKey: string
  region: string
}

export interface S3Server extends S3Account {
  /** A client that does not use the adapter. It is closed at the end of the test. */
  client: S3Client
  /** Creates an empty bucket, which is removed after the test. */
  newBucket(): Promise<string>
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

export const RUN_PREFIX = 'stowage-s3-test-'
const s3RunServer: RunServer = {
  prefix: RUN_PREFIX,
  what: 'S3 server',
  host: new URL('radosgw-host.ts', import.meta.url),
  // The first start may install programs.
  startTimeout: 240_000,
  environment: [
    'TEST_S3_ENDPOINT',
    'TEST_S3_ACCESS_KEY_ID',
    'TEST_S3_SECRET_ACCESS_KEY',
    'TEST_S3_REGION',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'http_proxy',
    'https_proxy',
  ],
}

export async function s3Server(t: Scope): Promise<S3Server> {
  const account = await serverOfThisRun<S3Account>(s3RunServer)
  const { accessKeyId, secretAccessKey, endpoint, region } = account
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  const buckets: string[] = []
  t.teardown(async () => {
    // Our own server keeps everything in memory, so it needs no cleanup.
    if (process.env.TEST_S3_ENDPOINT) for (const bucket of buckets) await removeBucket(client, bucket)
    client.destroy()
  })
  const newBucket = async () => {
    const bucket = `stowage-test-${randomUUID()}`
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    buckets.push(bucket)
    return bucket
  }
  return { ...account, client, newBucket }
}

async function removeBucket(client: S3Client, Bucket: string): Promise<void> {
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket })) {
    const keys = Contents.map(object => object.Key)
    const worker = async () => {
      for (let Key = keys.pop(); Key !== undefined; Key = keys.pop()) {
        await client.send(new DeleteObjectCommand({ Bucket, Key }))
      }
    }
    await Promise.all(Array.from({ length: 16 }, worker))
  }
  await client.send(new DeleteBucketCommand({ Bucket }))
}
