import assert from 'node:assert/strict'
import { readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { eventually, head, talk } from './socket.ts'

t.test('clients that stall are cut, slow ones are not', async t => {
  const app = await startApp(t, { settings: { stallTimeout: 2 } })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  const port = Number(new URL(app.url).port)
  const auth = { Authorization: `Bearer ${token}` }
  await writeFile(join(app.folder, 'large'), '')
  await truncate(join(app.folder, 'large'), 1_000_000_000)
  const upload = (path: string) => `${app.url}/api/upload/proxy?${new URLSearchParams({ providerId, path })}`
  const nothingIsLeft = () =>
    eventually(async () => {
      const files = await readdir(app.folder, { recursive: true, withFileTypes: true })
      assert.deepEqual(
        files.filter(file => file.isFile() && file.name !== 'slow').map(file => file.name),
        ['large'],
      )
      assert.equal(app.app.server.transfers.size, 0)
    })

  t.test('a download that the client stops reading is cut', async t => {
    const client = await talk(port)
    await client.send(
      head('GET', `${app.url}/api/download/proxy?${new URLSearchParams({ providerId, path: '/large' })}`, auth),
    )
    await client.until(/\r\n\r\n/)
    client.socket.pause()
    const began = performance.now()
    await eventually(() => assert.equal(app.app.server.transfers.size, 0))
    t.comment(`cut after ${Math.round(performance.now() - began)} ms`)
    client.socket.destroy()
    await nothingIsLeft()
  })

  t.test('uploads that stop sending are cut', async t => {
    const part = '--b\r\nContent-Disposition: form-data; name="f"; filename="new"\r\n\r\nhello'
    const requests = {
      raw: `${head('POST', upload('/new'), { 'Content-Length': 10, ...auth })}hello`,
      form:
        head('POST', upload('/'), {
          'Content-Type': 'multipart/form-data; boundary=b',
          'Content-Length': 1000,
          ...auth,
        }) + part,
    }
    for (const [name, request] of Object.entries(requests).slice(0, extent({ gate: 1, nightly: 2 }))) {
      const client = await talk(port)
      await client.send(request)
      await client.ended
      t.match(client.received(), /^HTTP\/1\.1 400 [\s\S]*INCOMPLETE_BODY/, name)
      await nothingIsLeft()
    }
  })

  t.test('a slow upload succeeds', async t => {
    const client = await talk(port)
    await client.send(head('POST', upload('/slow'), { 'Content-Length': 15, ...auth }))
    for (let sent = 0; sent < 15; sent++) {
      await client.send('x')
      await sleep(200)
    }
    await client.until(/HTTP\/1\.1 /)
    t.match(client.received(), /^HTTP\/1\.1 201 /)
    client.socket.destroy()
    await nothingIsLeft()
  })
})
