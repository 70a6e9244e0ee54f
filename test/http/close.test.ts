import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { closeGracefully } from '../../src/http/connection/graceful-close.ts'
import { atNight } from '../support/extent.ts'
import { startHttp } from './server.ts'
import { eventually, head, talk } from './socket.ts'

const mebibyte = 1024 * 1024

t.test('on close, running transfers finish, idle connections close and new ones are refused', async t => {
  const server = await startHttp(t)
  await writeFile(join(server.folder, 'big'), Buffer.alloc(30 * mebibyte))
  const idle = await talk(server.port)
  await idle.send(head('GET', `${server.url}/healthz`))
  await idle.until(/"ok"/)
  const download = await talk(server.port)
  await download.send(head('GET', server.downloadUrl('/big'), server.authorization))
  await download.until(/\r\n\r\n/)
  download.socket.pause()
  const upload = await talk(server.port)
  await upload.send(`${head('POST', server.uploadUrl('/up'), { 'Content-Length': 10, ...server.authorization })}hello`)
  await eventually(() => assert.equal(server.app.transfers.size, 2))

  const begin = performance.now()
  const closing = closeGracefully(server.app, 60_000)
  t.equal(await idle.ended, false)
  await t.rejects(talk(server.port), { code: 'ECONNREFUSED' })
  // A second request on the connection of the upload, before the upload is complete.
  await upload.send(`world${head('GET', `${server.url}/healthz`)}`)
  await upload.until(/HTTP\/1\.1 201 [\s\S]*HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*"UNAVAILABLE"/i)
  download.socket.resume()
  await download.ended
  const [, body = ''] = download.received().split('\r\n\r\n')
  t.equal(body.length, 30 * mebibyte, 'the download is complete')
  await closing
  t.ok(performance.now() - begin < 50_000, 'close waits only for the transfers')
})

t.test('a connection that was opened in advance and never used does not delay the close', async t => {
  const server = await startHttp(t)
  const unused = await talk(server.port)
  const begin = performance.now()
  await closeGracefully(server.app, 60_000)
  t.ok(performance.now() - begin < 50_000, 'close does not wait for the first request')
  t.equal(await unused.ended, false)
})

atNight(t, 'transfers that take too long are cut and cleaned up before close resolves', async t => {
  const server = await startHttp(t)
  await writeFile(join(server.folder, 'big'), Buffer.alloc(30 * mebibyte))
  const download = await talk(server.port)
  await download.send(head('GET', server.downloadUrl('/big'), server.authorization))
  await download.until(/\r\n\r\n/)
  download.socket.pause()
  const upload = await talk(server.port)
  const headers = { 'Content-Length': 10 * mebibyte, ...server.authorization }
  await upload.send(`${head('POST', server.uploadUrl('/up'), headers)}${'x'.repeat(2 * mebibyte)}`)
  await eventually(() => assert.equal(server.app.transfers.size, 2))
  await closeGracefully(server.app, 300)
  t.equal(server.app.transfers.size, 0)
  t.same(
    (await readdir(server.folder, { recursive: true, withFileTypes: true }))
      .filter(entry => entry.isFile())
      .map(entry => entry.name),
    ['big'],
  )
})
