import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { s3Server } from '../test/servers/radosgw.ts'
import { client } from '../test/support/client.ts'
import { install } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram } from './processes.ts'
import { interleave } from './rounds.ts'
import { requestsTo } from './small-files.ts'
import type { Row } from './table.ts'
import { callsPerSecond, wrkScript } from './wrk.ts'

const bytes = 10_000
const files = 500
const connections = 16
const seconds = 3

export const s3SmallFiles: Part = {
  title: 'Small files in S3',
  about: `Files of ${bytes / 1000} KB from and to radosgw, ${connections} at once for ${seconds} seconds, beside the AWS SDK alone in one process. Downloads read
${files} files in turn; each upload creates a file.`,
  async measure({ rounds, say }) {
    const wrk = await findProgram('wrk')
    if (!wrk || (!process.env.TEST_S3_ENDPOINT && !(await findProgram('radosgw')))) {
      say('Small files in S3 are skipped: they need wrk, and radosgw or TEST_S3_ENDPOINT.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const server = await s3Server({ teardown: end => stack.defer(end) })
    const s3 = server.client
    const Bucket = await server.newBucket()
    const { stowage, folder, key, session } = stack.use(await install())
    const { endpoint, region, accessKeyId, secretAccessKey } = server
    const config = { bucket: Bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
    const providerId = await client(stowage.url).connectProvider(session, 's3', config)
    const Body = Buffer.alloc(bytes, 'x')
    for (let number = 1; number <= files; number += 1) {
      await s3.send(new PutObjectCommand({ Bucket, Key: `down/${number}.bin`, Body }))
    }
    let turn = 0
    const requests = requestsTo({ key, providerId }, { bytes, files })
    const proxy = async (direction: 'down' | 'up') => {
      const { path, ...request } = requests[direction]
      const script = await wrkScript(folder, 's3', { ...request, path: path.replace('TURN', `turn-${turn++}`) })
      return callsPerSecond(wrk, script, stowage.url, { connections, seconds })
    }
    const get = async (number: number) => {
      const response = await s3.send(new GetObjectCommand({ Bucket, Key: `down/${(number % files) + 1}.bin` }))
      await response.Body?.transformToByteArray()
    }
    const put = (number: number) =>
      s3.send(new PutObjectCommand({ Bucket, Key: `up/sdk-${turn++}-${number}.bin`, Body }))
    const down = await interleave(rounds, { sdk: () => rate(get), proxy: () => proxy('down') })
    const up = await interleave(rounds, { sdk: () => rate(put), proxy: () => proxy('up') })
    const rows = (what: string, figures: typeof down): Row[] => [
      { what: `${what}: the SDK alone`, figures: figures.sdk, unit: 'files/s' },
      {
        what: `${what}: Stowage`,
        figures: figures.proxy,
        unit: 'files/s',
        against: { what: 'the SDK', figures: figures.sdk },
      },
    ]
    return [...rows('downloads', down), ...rows('uploads', up)]
  },
}

/** Measures calls per second. */
async function rate(call: (number: number) => Promise<unknown>): Promise<number> {
  let count = 0
  const from = performance.now()
  const end = from + seconds * 1000
  const loop = async () => {
    while (performance.now() < end) await call(count++)
  }
  await Promise.all(Array.from({ length: connections }, loop))
  return (count * 1000) / (performance.now() - from)
}
