import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { eventually } from './socket.ts'

/** Opens `count` connections, in batches that fit the system's queue, and returns those that the server keeps. */
async function open(app: TestApp, count: number, localAddress: string): Promise<Socket[]> {
  const port = Number(new URL(app.url).port)
  const kept = new Set<Socket>()
  for (let begun = 0; begun < count; begun += 100) {
    const batch = Array.from({ length: Math.min(100, count - begun) }, async () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      kept.add(socket)
      socket.on('error', () => {}).once('close', () => kept.delete(socket))
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {})
    })
    await Promise.all(batch)
  }
  let before = -1
  const isSettled = () => {
    const isSame = before === kept.size
    before = kept.size
    return isSame
  }
  await until(isSettled, { every: 500 })
  return [...kept]
}

async function status(socket: Socket): Promise<string> {
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  const [data] = await once(socket, 'data')
  return String(data).slice(9, 12)
}

t.test('the connections of one address are limited without affecting others', async t => {
  const app = await startApp(t, { settings: { connectionLimit: 100 } })
  const kept = await open(app, extent({ gate: 200, nightly: 1200 }), '127.0.0.2')
  t.equal(kept.length, 100)
  const [other] = await open(app, 1, '127.0.0.3')
  t.equal(other && (await status(other)), '200')
  for (const socket of kept) socket.destroy()
  await eventually(async () => {
    const [again] = await open(app, 1, '127.0.0.2')
    if (!again) throw new Error('Closed connections still count')
    t.equal(await status(again), '200')
    again.destroy()
  })
  other?.destroy()
  const lines = app
    .logged()
    .split('\n')
    .filter(line => line.includes('STOWAGE_CONNECTION_LIMIT'))
  t.equal(lines.length, 1, 'the log reports it once a minute')
  t.match(lines[0], '127.0.0.2')
})

atNight(t, 'a trusted proxy is bounded only by the limit for all connections', async t => {
  const app = await startApp(t, { settings: { connectionLimit: 20, trustedProxies: ['127.0.0.0/30'] } })
  const kept = await open(app, 300, '127.0.0.2')
  t.equal(kept.length, 200)
  for (const socket of kept) socket.destroy()
})
