import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { HeadBucketCommand, ListBucketsCommand } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { RUN_PREFIX, s3Server } from '../../servers/radosgw.ts'
import { identityOf } from '../../servers/run.ts'
import { memoryFolder } from '../../support/memory-folder.ts'

t.setTimeout(300_000)

t.test('all files of a run share one server', async t => {
  const files = [1, 2].map(() => s3User(t, { TAP_CHILD_KEY: '1' }))
  const found = await Promise.all(files.map(file => file.answer))
  t.equal(new Set(found.map(one => one.endpoint)).size, 1)
  t.equal(new Set(found.map(one => one.bucket)).size, 2)
  for (const file of files) t.equal(await file.end(), 0)
})

t.test('a killed run leaves no server and no folder', async t => {
  const file = s3User(t)
  const { endpoint } = await file.answer
  const run = await identityOf(file.child.pid ?? 0)
  const mine = async () => (await readdir(memoryFolder())).filter(name => name === `${RUN_PREFIX}${run}`)
  t.equal((await mine()).length, 1)
  file.child.kill('SIGKILL')
  for (let waited = 0; (await mine()).length > 0 && waited < 10_000; waited += 50) await sleep(50)
  t.strictSame(await mine(), [])
  await t.rejects(fetch(endpoint), 'the server has ended')
})

t.test('a server from the environment is not changed', async t => {
  const { client, newBucket, ...account } = await s3Server(t)
  const kept = await newBucket()
  const given = {
    TEST_S3_ENDPOINT: account.endpoint,
    TEST_S3_ACCESS_KEY_ID: account.accessKeyId,
    TEST_S3_SECRET_ACCESS_KEY: account.secretAccessKey,
  }
  const file = s3User(t, given)
  const { endpoint, bucket } = await file.answer
  t.equal(endpoint, account.endpoint)
  await client.send(new HeadBucketCommand({ Bucket: bucket }))
  t.equal(await file.end(), 0)
  const { Buckets = [] } = await client.send(new ListBucketsCommand({}))
  t.ok(Buckets.some(({ Name }) => Name === kept))
  t.notOk(Buckets.some(({ Name }) => Name === bucket))
})

t.test('without a server, the error names all ways to get one', async t => {
  const file = s3User(t, { PATH: '/nowhere' })
  t.not(await file.end(), 0)
  const said = await file.said
  t.match(
    said,
    /need radosgw,.* put them on PATH, or name a server with TEST_S3_ENDPOINT, TEST_S3_ACCESS_KEY_ID and TEST_S3_SECRET_ACCESS_KEY, or run as root on Debian/,
  )
  const half = s3User(t, { TEST_S3_ENDPOINT: 'http://127.0.0.1:9' })
  t.not(await half.end(), 0)
  t.match(await half.said, /TEST_S3_ENDPOINT needs TEST_S3_ACCESS_KEY_ID/)
})

function s3User(t: Test, environment: Record<string, string> = {}) {
  const script = fileURLToPath(new URL('../../servers/s3-user.ts', import.meta.url))
  const { PATH } = process.env
  const child = spawn(process.execPath, [script], { env: { PATH, ...environment }, stdio: ['pipe', 'pipe', 'pipe'] })
  const closed = once(child, 'close')
  const said = text(child.stderr)
  t.teardown(() => child.kill('SIGKILL'))
  const answer = once(child.stdout, 'data').then(
    ([text]) => JSON.parse(String(text)) as { endpoint: string; bucket: string },
  )
  /** The exit status. */
  const end = async () => {
    child.stdin.end()
    return (await closed)[0] as number
  }
  return { child, answer, said, end }
}
