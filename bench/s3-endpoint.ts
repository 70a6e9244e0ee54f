import { createReadStream } from 'node:fs'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { s3Server } from '../test/servers/radosgw.ts'
import { client } from '../test/support/client.ts'
import { install, makeFile, query } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'
import { curlRate } from './webdav.ts'
import { callsPerSecond, type WrkRequest, wrkScript } from './wrk.ts'

const mib = 1024 * 1024
const largeBytes = 1024 * mib
const smallBytes = 10_000
const connections = 16
const seconds = 3

export const s3Endpoint: Part = {
  title: 'S3 endpoint',
  about: `Presigned URLs, so that each request is verified: 1 GiB with curl, and one object of ${smallBytes / 1000} KB with wrk over ${connections} connections for
${seconds} seconds. The S3 endpoint of Stowage has a local storage, like the REST endpoints; radosgw has its own in memory. The last rows upload
1 GiB in parts with the AWS SDK: to radosgw directly, and through Stowage to a storage in radosgw.`,
  async measure({ rounds, say }) {
    const wrk = await findProgram('wrk')
    if (!wrk || (!process.env.TEST_S3_ENDPOINT && !(await findProgram('radosgw')))) {
      say('The S3 endpoint is skipped: it needs wrk, and radosgw or TEST_S3_ENDPOINT.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const server = await s3Server({ teardown: end => stack.defer(end) })
    const bucket = await server.newBucket()
    const { stowage, folder, files, key, session, providerId } = stack.use(await install())
    const api = client(stowage.url)
    const { endpoint, region, accessKeyId, secretAccessKey } = server
    const config = { bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true, prefix: 'through' }
    await api.connectProvider(session, 's3', config, 'radosgw')
    const create =
      'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { s3 { accessKeyId secretAccessKey } } }'
    const { createApiKey } = await api.ask(create, { input: { name: 's3', scopes: ['write'] } }, session)
    const own = new S3Client({
      endpoint: `${stowage.url}/s3`,
      region: 'us-east-1',
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      credentials: createApiKey.s3,
    })
    stack.defer(() => own.destroy())
    const source = join(folder, 'source.bin')
    await makeFile(source, largeBytes)
    await mkdir(files, { recursive: true })

    const signed = (s3: S3Client, Bucket: string, direction: 'down' | 'up', Key: string) =>
      getSignedUrl(
        s3,
        direction === 'down' ? new GetObjectCommand({ Bucket, Key }) : new PutObjectCommand({ Bucket, Key }),
        {
          expiresIn: 24 * 60 * 60,
        },
      )
    const content = Buffer.alloc(smallBytes, 'x')
    for (const [s3, Bucket] of [
      [own, 'local'],
      [server.client, bucket],
    ] as const) {
      await s3.send(new PutObjectCommand({ Bucket, Key: 'small.bin', Body: content }))
      await new Upload({ client: s3, params: { Bucket, Key: 'large.bin', Body: createReadStream(source) } }).done()
    }
    await writeFile(join(folder, 'small.bin'), content)
    const authorization = `Authorization: Bearer ${key}`
    const rest = (direction: 'down' | 'up', path: string) =>
      direction === 'down'
        ? `${stowage.url}/api/download/proxy${query(providerId, path)}`
        : `${stowage.url}/api/upload/proxy${query(providerId, path)}&conflict=replace`
    const large = {
      REST: async (direction: 'down' | 'up') =>
        direction === 'down'
          ? ['-H', authorization, rest('down', '/large.bin')]
          : ['-H', authorization, '-X', 'POST', '-T', source, rest('up', '/up.bin')],
      'S3 endpoint': async (direction: 'down' | 'up') =>
        transfer(
          source,
          direction,
          await signed(own, 'local', direction, direction === 'down' ? 'large.bin' : 'up.bin'),
        ),
      radosgw: async (direction: 'down' | 'up') =>
        transfer(
          source,
          direction,
          await signed(server.client, bucket, direction, direction === 'down' ? 'large.bin' : 'up.bin'),
        ),
    }
    const small = {
      REST: async (direction: 'down' | 'up') =>
        requestTo(rest(direction, '/small.bin'), direction, 'POST', authorization),
      'S3 endpoint': async (direction: 'down' | 'up') =>
        requestTo(await signed(own, 'local', direction, 'small.bin'), direction, 'PUT'),
      radosgw: async (direction: 'down' | 'up') =>
        requestTo(await signed(server.client, bucket, direction, 'small.bin'), direction, 'PUT'),
    }
    const rows: Row[] = []
    const add = (what: string, unit: string, base: string, figures: Record<string, number[]>) => {
      for (const [name, own] of Object.entries(figures)) {
        const row = { what: `${what}: ${name}`, figures: own, unit }
        rows.push(name === base ? row : { ...row, against: { what: base, figures: figures[base] ?? [] } })
      }
    }
    const each = <Name extends string>(names: readonly Name[], work: (name: Name) => Promise<number>) =>
      interleave(rounds, Object.fromEntries(names.map(name => [name, () => work(name)])))
    const names = ['REST', 'S3 endpoint', 'radosgw'] as const
    for (const direction of ['down', 'up'] as const) {
      say(`  ${direction}loads`)
      const rates = await each(names, async name => {
        const args = await large[name](direction)
        if (direction === 'up') await touchMemory(source, join(files, 'touched.bin'))
        return curlRate(args, join(files, 'up.bin'))
      })
      add(`1 GiB, ${direction}load`, 'MB/s', 'REST', rates)
      const calls = await each(names, async name => {
        const { url, ...request } = await small[name](direction)
        const script = await wrkScript(folder, name.replace(' ', '-'), request)
        return callsPerSecond(wrk, script, url, { connections, seconds })
      })
      add(`10 KB, ${direction}loads`, 'files/s', 'REST', calls)
    }
    say('  in parts')
    const inParts = (s3: S3Client, Bucket: string) => async () => {
      const Body = createReadStream(source, { highWaterMark: mib })
      const start = performance.now()
      await new Upload({ client: s3, params: { Bucket, Key: 'parts', Body }, partSize: 8 * mib, queueSize: 4 }).done()
      return largeBytes / 1000 / (performance.now() - start)
    }
    const uploads = { 'the SDK alone': inParts(server.client, bucket), 'through Stowage': inParts(own, 'radosgw') }
    add('1 GiB in parts', 'MB/s', 'the SDK alone', await interleave(rounds, uploads))
    return rows
  },
}

/** Allocates and frees the memory for an upload, because the first access to a page can be slow in a virtual machine. */
async function touchMemory(source: string, path: string): Promise<void> {
  await copyFile(source, path)
  await rm(path)
}

function transfer(source: string, direction: 'down' | 'up', url: string): string[] {
  return direction === 'down' ? [url] : ['-T', source, url]
}

function requestTo(
  address: string,
  direction: 'down' | 'up',
  uploadMethod: string,
  authorization?: string,
): WrkRequest & { url: string } {
  const { origin, pathname, search } = new URL(address)
  const [name = '', value = ''] = authorization?.split(': ') ?? []
  const request = { url: origin, path: pathname + search, headers: name === '' ? {} : { [name]: value } }
  return direction === 'down'
    ? { ...request, method: 'GET' }
    : { ...request, method: uploadMethod, body: 'x'.repeat(smallBytes) }
}
