/** The memory for PROPFIND does not grow with the properties and locks of a folder. */
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SaxesParser } from 'saxes'
import t, { type Test } from 'tap'
import { startTarget } from '../../../bench/attacks/target.ts'
import { growth } from '../../../bench/growth.ts'
import { databaseSettings } from '../../servers/postgres.ts'
import { client } from '../../support/client.ts'
import { davClient, lockInfo, setProperty, tokenOf } from '../../webdav/client.ts'

t.setTimeout(300_000)

const files = 500
const readers = 8
/** The most that an entry can have: four properties and 16 shared locks. */
const property = 15_000
const properties = 4
const owner = 900
const locks = 16
/** MiB. One response has 40 MiB, and all of them together have 320. */
const bound = 250

t.test('slow readers of a folder with the largest properties and the most locks', async t => {
  const server = await startFolder(t)
  const responses: IncomingMessage[] = []
  t.teardown(() => {
    for (const response of responses) response.destroy()
  })
  const grown = await growth(server, async () => {
    for (let index = 0; index < readers; index += 1) responses.push(await server.list())
    const [first, ...others] = responses
    const xml = xmlReader()
    for (let step = 0; step < 30; step += 1) {
      for (const response of others) response.read(16_384)
      xml.write(first?.read(16_384) ?? '')
      t.equal((await fetch(`${server.url}/healthz`)).status, 200)
      await sleep(50)
    }
    for (const response of others) response.destroy()
    for await (const chunk of first ?? []) xml.write(chunk)
    xml.close()
    t.equal(xml.hrefs.size, files + 1)
    t.match(xml.counts, { response: files + 1, p0: files, p3: files, activelock: locks * (files + 1) })
  })
  t.comment(`${Math.round(grown)} MiB more`)
  t.ok(grown < bound, `${Math.round(grown)} MiB more memory for ${readers} readers`)
})

/** Fills a folder as any client with a key for it can. */
async function startFolder(t: Test) {
  const settings = await databaseSettings(t)
  const { target, pid } = await startTarget(t, { files: 0, connections: 0 }, { ...settings, STOWAGE_RATE_LIMIT: '0' })
  const { url, token, root } = target
  const { key } = await client(url).createKey(token, { name: 'writer', scopes: ['write'] })
  const dav = davClient({ url }, key)
  await mkdir(join(root, 'folder'))
  await writeFile(join(root, 'folder/0'), '')
  for (let n = 0; n < properties; n += 1) {
    const body = setProperty(`<p${n} xmlns="urn:x">${'x'.repeat(property)}</p${n}>`)
    t.match((await dav('PROPPATCH', '/local/folder/0', { body })).text, '200 OK')
  }
  const names = Array.from({ length: files - 1 }, (_, index) => index + 1).values()
  const copy = async () => {
    for (const name of names) {
      const { status } = await dav('COPY', '/local/folder/0', {
        headers: { destination: `/dav/local/folder/${name}` },
      })
      if (status !== 201) throw new Error(`COPY returned ${status}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, copy))
  const body = lockInfo('shared').replace('a test', 'x'.repeat(owner))
  for (let n = 0; n < locks; n += 1) t.ok(tokenOf(await dav('LOCK', '/local/folder', { body })))
  // The first request makes the server load its code.
  await dav('PROPFIND', '/local/folder/0', { headers: { depth: '0' } })
  return {
    url,
    pid,
    /** Resolves with a response whose body nobody reads yet. */
    async list(): Promise<IncomingMessage> {
      const headers = { authorization: `Bearer ${key}`, depth: '1' }
      const asked = request(`${url}/dav/local/folder`, { method: 'PROPFIND', headers, agent: false }).end()
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      t.equal(response.statusCode, 207)
      return response
    },
  }
}

/** Counts the elements of a document, which must be well-formed. */
function xmlReader() {
  const open: string[] = []
  const counts: Record<string, number> = {}
  const hrefs = new Set<string>()
  const parser = new SaxesParser<{ xmlns: true }>({ xmlns: true })
  parser.on('error', error => {
    throw error
  })
  parser.on('opentag', ({ local }) => {
    open.push(local)
    counts[local] = (counts[local] ?? 0) + 1
  })
  parser.on('closetag', () => open.pop())
  parser.on('text', text => {
    if (open.length === 3 && open.at(-1) === 'href') hrefs.add(text)
  })
  return { hrefs, counts, write: (chunk: unknown) => parser.write(String(chunk)), close: () => parser.close() }
}
