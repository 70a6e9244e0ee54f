/**
 * Floods of expensive requests from accounts with few rights, against the whole program with a heap of 512 MB and without
 * request limits. It has to live, stay responsive for others, and give the memory back.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { extent, isNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { startWorld } from './world.ts'

t.setTimeout(1_200_000)

/** Milliseconds of each flood. */
const duration = Number(process.env.FLOOD_MS ?? extent({ gate: 600, nightly: 1500 }))
/** Milliseconds for a response to others. The promise is 400 for /healthz and 1000 for `me`; other tests share the machine. */
const longest = { health: 10_000, me: 20_000 }

const manyKeys = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`)}}`
const graphql = (variables: string) =>
  `{"query":"query ($input: JSONObject) { me { id } }","variables":{"input":${variables}}}`
const attributes = Array.from({ length: 60 }, (_, n) => `a${n}=""`).join(' ')
const elements = `<Object ${attributes}><Key>k</Key></Object>`

interface Flood {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string
  /** Whether the client sends many requests at once and never reads a response. */
  isUnread?: boolean
  connections?: number
}

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const floods: Record<string, Flood> = {
  'attributes in S3 XML': {
    method: 'POST',
    path: '/s3/disk?delete',
    body: `<Delete>${elements.repeat(10_000)}</Delete>`,
  },
  'elements in S3 XML': {
    method: 'POST',
    path: '/s3/disk?delete',
    body: `<Delete>${'<Object><Key>k</Key></Object>'.repeat(140_000)}</Delete>`,
  },
  'nested elements in S3 XML': {
    method: 'POST',
    path: '/s3/disk?delete',
    body: `<Delete><Object>${'<a/>'.repeat(199_000)}</Object></Delete>`,
  },
  'bodies that never arrive': {
    method: 'POST',
    path: '/graphql',
    headers: { ...json, 'Content-Length': '1000' },
    isUnread: true,
    connections: 600,
  },
  'parts of an S3 upload': {
    method: 'POST',
    path: '/s3/disk/key?uploadId=x',
    body: `<CompleteMultipartUpload>${'<Part><a/><b/><c/></Part>'.repeat(160_000)}</CompleteMultipartUpload>`,
  },
  'S3 lists that nobody reads': {
    method: 'GET',
    path: '/s3/disk?list-type=2&encoding-type=url',
    isUnread: true,
    connections: 300,
  },
  'WebDAV lists that nobody reads': {
    method: 'PROPFIND',
    path: '/dav/disk/',
    headers: { Depth: '1' },
    isUnread: true,
  },
  'keys in MCP': {
    method: 'POST',
    path: '/mcp',
    headers: json,
    body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${manyKeys(50_000)}}`,
  },
  'as many keys in MCP as are accepted': {
    method: 'POST',
    path: '/mcp',
    headers: json,
    body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${manyKeys(1900)}}`,
  },
  'keys in GraphQL': { method: 'POST', path: '/graphql', headers: json, body: graphql(manyKeys(80_000)) },
  'as many keys in GraphQL as are accepted': {
    method: 'POST',
    path: '/graphql',
    headers: json,
    body: graphql(manyKeys(9900)),
  },
  'GraphQL lists that nobody reads': {
    method: 'POST',
    path: '/graphql',
    headers: json,
    body: '{"query":"{ providers { id name slug status type { type title configSchema } } providerTypes { type title configSchema } }"}',
    isUnread: true,
  },
}

/** A flood that nobody reads. */
const sampled = ['WebDAV lists that nobody reads']

t.test('floods of members with few rights', async t => {
  const world = await startWorld(t, { environment: { NODE_OPTIONS: '--max-old-space-size=512' } })
  const { token: owner } = world
  const invite = 'mutation { createInvite(input: { role: EDITOR }) { invite } }'
  const editor = await world.register(
    'editor@example.org',
    await world.ask(invite, {}, owner).then(data => data.createInvite),
  )
  const { key: reader } = await world.createKey(editor.token, { name: 'reader', scopes: ['read'] })
  const { key: writer } = await world.createKey(editor.token, { name: 'writer', scopes: ['write'] })
  const { token: nobody } = await world.register('nobody@example.org')
  const slug = 'mutation ($id: ID!) { updateProvider(input: { id: $id, slug: "disk" }) { id } }'
  await world.ask(slug, { id: world.local }, owner)
  const folder = join(world.files, 'a-folder-with-a-long-name'.repeat(6))
  await mkdir(folder)
  for (let n = 0; n < extent({ gate: 500, nightly: 1500 }); n += 1)
    await writeFile(join(folder, `${'n'.repeat(100)}${n}`), '')
  const resident = async () => {
    const status = await readFile(`/proc/${world.program().process.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
  }
  /** Returns the milliseconds until a response has arrived. */
  const time = async (call: () => Promise<unknown>) => {
    const begin = performance.now()
    await call()
    return performance.now() - begin
  }
  const health = () => fetch(`${world.url}/healthz`).then(response => response.text())
  const me = () => world.ask('{ me { id } }', {}, owner)
  const start = (flood: Flood, token: string, milliseconds: number) => {
    const script = new URL('flooder.ts', import.meta.url).pathname
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'inherit', 'inherit'] })
    child.stdin.end(JSON.stringify({ connections: 60, ...flood, url: world.url, token, duration: milliseconds }))
    return once(child, 'exit')
  }
  const tried = extent({ gate: sampled, nightly: Object.keys(floods) })
  for (const [name, flood] of Object.entries(floods).filter(([name]) => tried.includes(name))) {
    const writes = flood.path.startsWith('/s3') && flood.method === 'POST'
    const accounts = Object.entries({ nobody, reader, ...(writes && { writer }) })
    // The account with the fewest rights whose request is read to its end.
    const typical = writes ? 'writer' : /^\/(?:s3|dav)\//.test(flood.path) ? 'reader' : 'nobody'
    const floodedBy = extent({ gate: accounts.filter(([who]) => who === typical), nightly: accounts })
    for (const [who, token] of floodedBy) {
      // The first requests load and compile code.
      await start({ ...flood, connections: 2, isUnread: false }, token, 500)
      await Promise.all(Array.from({ length: 50 }, () => Promise.all([health(), me()])))
      const before = await resident()
      const most = { health: 0, me: 0, resident: 0 }
      let isRunning = true
      const ended = start(flood, token, duration).finally(() => {
        isRunning = false
      })
      while (isRunning) {
        most.health = Math.max(most.health, await time(health))
        most.me = Math.max(most.me, await time(me))
        most.resident = Math.max(most.resident, await resident())
        await sleep(20)
      }
      await ended
      const grown = Math.round(most.resident - before)
      t.comment(`${name}, ${who}: health ${Math.round(most.health)} ms, me ${Math.round(most.me)} ms, +${grown} MB`)
      t.ok(most.health < longest.health, `${name}, ${who}: /healthz took ${most.health} ms`)
      t.ok(most.me < longest.me, `${name}, ${who}: me took ${most.me} ms`)
      t.ok(grown < 250, `${name}, ${who}: ${grown} MB more`)
      t.equal(world.program().process.exitCode, null, 'the process lives')
      await until(async () => (await resident()) < before + 50, { within: 20_000, every: 500 }).catch(() => {})
      const left = Math.round((await resident()) - before)
      t.comment(`${name}, ${who}: ${left} MB left`)
      t.ok(left < 100, `${name}, ${who}: ${left} MB remain`)
      // By day, one server takes all floods. It has freed its memory before the next one.
      if (!isNight) continue
      await world.program().stop()
      await world.restart()
    }
  }
})
