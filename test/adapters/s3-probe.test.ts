/** The test objects that the adapter writes to learn what a server supports. */
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import t from 'tap'
import { call, namesIn } from '../../adapters/conformance/kit.ts'
import { type Fault, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { openS3 } from './s3-provider.ts'

t.setTimeout(300_000)

const server = await s3Server(t)

t.test('the test object of a killed server is hidden, and the next server removes it', async t => {
  const bucket = await server.newBucket()
  const left = async () => {
    const [{ Contents = [] }, { Uploads = [] }] = await Promise.all([
      server.client.send(new ListObjectsV2Command({ Bucket: bucket })),
      server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket })),
    ])
    return { objects: Contents.length, uploads: Uploads.length }
  }
  const proxy = await faultProxy(t, server.endpoint)
  const refused: Fault = { answer: { status: 403 } }
  // From the first part on, the proxy refuses everything, like after a kill.
  proxy.fault = ({ method, url }) => (method === 'DELETE' || url?.includes('partNumber') ? refused : undefined)
  const killed = await openS3({ ...server, endpoint: proxy.endpoint }, bucket, { config: { prefix: '' } })
  t.strictSame(await left(), { objects: 1, uploads: 1 })
  t.strictSame(await namesIn(killed, ''), [])

  const again = async (limits: object, host: string) => {
    const endpoint = server.endpoint.replace('127.0.0.1', host)
    const provider = await openS3({ ...server, endpoint }, bucket, { config: { prefix: '' }, limits })
    await provider.stat('' as never, call())
    return await left()
  }
  t.strictSame(await again({}, '127.0.0.1'), { objects: 1, uploads: 1 }, 'another server may be testing now')
  t.strictSame(await again({ staleProbeAge: -300_000 }, 'localhost'), { objects: 0, uploads: 0 })
})
