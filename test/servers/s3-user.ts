/** Stands for a test file: asks for an S3 server, tells which one it got and a bucket there, and waits to be ended. */
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
