import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { s3Server } from '../test/servers/radosgw.ts'
import { client } from '../test/support/client.ts'
import { install, makeFile } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, run } from './processes.ts'
import { interleave } from './rounds.ts'

const mib = 1024 * 1024
const bytes = 1024 * mib

export const s3: Part = {
  title: 'S3 through the proxies',
  about: `curl uploads 1 GiB to radosgw through Stowage and downloads it again, beside the AWS SDK alone in one process.`,
  async measure({ rounds, say }) {
    if (!process.env.TEST_S3_ENDPOINT && !(await findProgram('radosgw'))) {
      say('S3 is skipped: radosgw is not installed, and TEST_S3_ENDPOINT names no other server.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const server = await s3Server({ teardown: end => stack.defer(end) })
    const bucket = await server.newBucket()
    const { stowage, folder, key, session } = stack.use(await install())
    const { endpoint, region, accessKeyId, secretAccessKey } = server
    const config = { bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
    const providerId = await client(stowage.url).connectProvider(session, 's3', config)
    const source = join(folder, 'source.bin')
    await makeFile(source, bytes)
    const query = new URLSearchParams({ providerId, path: '/proxy', conflict: 'replace' })
    const curl = (...args: string[]) =>
      run('curl', ['-sSf', '-H', `Authorization: Bearer ${key}`, '-H', 'Expect:', '-o', '/dev/null', ...args])
    const sdkUp = () =>
      new Upload({
        client: server.client,
        params: { Bucket: bucket, Key: 'sdk', Body: createReadStream(source, { highWaterMark: mib }) },
        partSize: 8 * mib,
        queueSize: 4,
      }).done()
    const sdkDown = async () => {
      const { Body } = await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'sdk' }))
      await pipeline(Body as Readable, new Writable({ write: (_chunk, _encoding, done) => done() }))
    }
    const proxy = `${stowage.url}/api`
    const up = await interleave(rounds, {
      sdk: () => rate(sdkUp),
      proxy: () => rate(() => curl('-X', 'POST', '-T', source, `${proxy}/upload/proxy?${query}`)),
    })
    query.delete('conflict')
    const down = await interleave(rounds, {
      sdk: () => rate(sdkDown),
      proxy: () => rate(() => curl(`${proxy}/download/proxy?${query}`)),
    })
    return [
      { what: 'upload: the SDK alone', figures: up.sdk, unit: 'MB/s' },
      { what: 'upload: Stowage', figures: up.proxy, unit: 'MB/s', against: { what: 'the SDK', figures: up.sdk } },
      { what: 'download: the SDK alone', figures: down.sdk, unit: 'MB/s' },
      { what: 'download: Stowage', figures: down.proxy, unit: 'MB/s', against: { what: 'the SDK', figures: down.sdk } },
    ]
  },
}

/** Measures the speed in MB/s. */
async function rate(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return bytes / 1000 / (performance.now() - from)
}
