/** Acts as a test file: requests an S3 server, prints its address and a bucket, and waits to be killed. */
import { once } from 'node:events'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { s3Server } from './radosgw.ts'

const ends: (() => Promise<void>)[] = []
const server = await s3Server({ teardown: end => ends.push(end) })
const bucket = await server.newBucket()
await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'file', Body: Buffer.from('x') }))
process.stdout.write(JSON.stringify({ endpoint: server.endpoint, bucket }))
process.stdin.resume()
await once(process.stdin, 'end')
for (const end of ends) await end()
