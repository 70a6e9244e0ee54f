/** Valid credentials wait for others' wrong ones, but are not refused. */
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import type { AppError } from '../../src/errors.ts'
import { LookupRounds, lookupsInRound, roundInterval } from '../../src/services/limits/requests.ts'
import { createS3World } from '../s3/world.ts'
import { atNight } from '../support/extent.ts'
import { startFlood } from '../support/flood.ts'
import { makeShare, sharePath } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { davClient } from '../webdav/client.ts'

const connection = () => ({ destroyed: false })
const reasonOf = (taking: Promise<void>) =>
  taking.then(
    () => 'taken',
    (error: AppError) => error.reason,
  )

t.test('a round admits a bounded number of lookups, of each network in turn', async t => {
  const turns = new LookupRounds()
  const admitted: string[] = []
  const start = performance.now()
  const enter = (network: string, number: number) =>
    turns.take(`${number}`, network, connection()).then(() => admitted.push(network))
  const flood = Array.from({ length: 3 * lookupsInRound }, (_, number) => enter('flood', number))
  await enter('small', 0)
  t.same(admitted.slice(0, 2), ['flood', 'small'])
  await until(() => admitted.length > lookupsInRound)
  t.ok(performance.now() - start > 1.9 * roundInterval, 'the next ones come a round later')
  await Promise.all(flood)
  t.ok(performance.now() - start > 3.9 * roundInterval)
  await enter('late', 0)
  t.pass('and the rounds start again')
})

t.test('a connection waits for one credential, and the number of waiting connections is bounded', async t => {
  const turns = new LookupRounds()
  const own = connection()
  const first = turns.take('a', 'network', own)
  const again = turns.take('a', 'network', own)
  t.equal(await reasonOf(turns.take('b', 'network', own)), 'RATE_LIMITED')
  await Promise.all([first, again])
  await turns.take('b', 'network', own)

  const gone = { destroyed: false }
  const left = reasonOf(turns.take('c', 'network', gone))
  gone.destroyed = true
  t.equal(await left, 'RATE_LIMITED', 'a client that has left takes no turn')

  const others = Array.from({ length: 2000 }, (_, number) => turns.take(`${number}`, 'network', connection()))
  t.equal(await reasonOf(turns.take('d', 'network', connection())), 'RATE_LIMITED')
  t.equal(await reasonOf(turns.take('d', 'other', connection())), 'taken')
  await Promise.all(others)
})

atNight(t, 'valid credentials that a server has not seen yet work during a flood of wrong ones', async t => {
  const world = await createS3World(t, { settings: { rateLimit: 120_000 } })
  const { app, root, token, providerId } = world
  await writeFile(join(root, 'file'), 'content')
  const { link } = await makeShare(app, token, { providerId, path: '/' })
  const [bearer, basic, signed] = await Promise.all([world.createKey(), world.createKey(), world.createKey()])
  // It has seen no credential yet.
  const fresh = await app.replica()
  const wrong = (n: number) => `stw_${createHash('sha256').update(`${n}`).digest('hex').slice(0, 40)}`
  const clients = 400
  const requests = Array.from({ length: clients }, (_, n) => ({
    query: '{ me { id } }',
    input: {},
    headers: { authorization: `Bearer ${wrong(n)}` },
  }))
  const started = performance.now()
  const end = startFlood(t, { url: fresh.url, clients, requests })
  const statusOf = async (guess: string) =>
    (await fresh.request('/s3', { headers: { authorization: `Bearer ${guess}` } })).status
  await until(async () => (await statusOf('no.token')) === 503)

  const client = world.client(signed.s3, { endpoint: `${fresh.url}/s3` })
  const download = `/api/download/proxy?${new URLSearchParams({ providerId, path: '/file' })}`
  const textOf = async (path: string, credential: string | null) =>
    (await fresh.request(path, { token: credential })).text()
  const uses: Record<string, () => Promise<string | undefined>> = {
    'an API key': () => textOf(download, bearer.key),
    'a session': () => textOf(download, token),
    'a share link': () => textOf(sharePath(link, 'content', { path: '/file' }), null),
    'an S3 signature': async () => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: 'files', Key: 'file' }))
      return Body?.transformToString()
    },
    'Basic authentication': async () => (await davClient(fresh, basic.key)('GET', '/files/file')).text,
  }
  for (const [name, use] of Object.entries(uses)) {
    const sent = performance.now()
    t.equal(await use(), 'content', name)
    const took = performance.now() - sent
    t.ok(took < 20_000, `${name} takes ${Math.round(took)} ms`)
  }
  t.equal(await statusOf('no.token'), 503, 'the flood was over its limit all the time')
  const answers = await end()
  const seconds = (performance.now() - started) / 1000
  const lookups = answers.INVALID_CREDENTIAL ?? 0
  t.same(Object.keys(answers).toSorted(), ['INVALID_CREDENTIAL'], 'the wrong ones get their response after they waited')
  const most = 300 + clients + (seconds * 1000 * lookupsInRound) / roundInterval
  t.ok(lookups < most, `${lookups} lookups in ${seconds.toFixed(1)} s`)
})
