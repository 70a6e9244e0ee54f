/** Uploads that a virus scanner reads before they become visible: real clamd, with signatures of our own. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { type AdapterDefinition, StorageError, type StorageProvider } from '../../adapters/contract.ts'
import { ClamdScan, clamdVersion, usualTimeouts } from '../../src/services/scans/clamd.ts'
import { type ScannerSettings, UploadScan } from '../../src/services/scans/index.ts'
import { ScanSlots } from '../../src/services/scans/slots.ts'
import { checkScanner } from '../../src/start/doctor/checks.ts'
import { metadataHeader, tus, tusPath } from '../http/tus.ts'
import { eicar, eicarSignature, marker, markerSignature, startClamd } from '../servers/clamd.ts'
import { startFakeClamd } from '../servers/fake-clamd.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'
import { toolCall, toolOutcome } from '../support/mcp.ts'
import { ask as askShare, drop, makeShare, read } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { davClient } from '../webdav/client.ts'

// The scanner may need to be installed first.
t.setTimeout(300_000)

const mib = 1024 * 1024
const clamd = await startClamd(t)

/** Fails calls before the back end carries them out, or afterwards, as if the server were killed then. */
const kill = { before: '', after: '' }

/** Local disks without some capabilities, and one whose responses are lost. */
function adapters(folder: string): AdapterDefinition[] {
  const local = localAdapter({ localRoots: [folder], dataFolder: '/nowhere' }) as AdapterDefinition
  const changed = (
    type: string,
    change: (provider: StorageProvider) => Partial<Record<keyof StorageProvider, unknown>>,
  ) => ({
    ...local,
    type,
    async open(config: Record<string, unknown>, host: Parameters<typeof local.open>[1]) {
      const provider = await local.open(config, host)
      const own = change(provider)
      return new Proxy(provider, {
        get(_, name: keyof StorageProvider) {
          const member = name in own ? own[name] : provider[name]
          return typeof member === 'function' ? member.bind(provider) : member
        },
      })
    },
  })
  const lost =
    (name: string, call: (...args: never[]) => Promise<unknown>) =>
    async (...args: never[]) => {
      if (kill.before === name) throw new StorageError('UNAVAILABLE', 'The request was lost.')
      const result = await call(...args)
      if (kill.after === name) throw new StorageError('UNAVAILABLE', 'The response was lost.')
      return result
    }
  return [
    local,
    memoryAdapter,
    changed('no-move', () => ({ move: undefined })),
    changed('no-copy', () => ({ move: undefined, copy: undefined })),
    changed('lost', provider => {
      const { resumable } = provider
      return {
        move: lost('move', provider.move?.bind(provider) as never),
        presign: async () => ({ url: new URL('http://127.0.0.1/direct'), headers: {} }),
        resumable: resumable && {
          ...resumable,
          complete: lost('complete', resumable.complete.bind(resumable) as never),
          parts: resumable.parts && {
            ...resumable.parts,
            complete: lost('complete', resumable.parts.complete.bind(resumable.parts) as never),
          },
        },
      }
    }),
  ] as AdapterDefinition[]
}

const app = await startApp(t, { settings: { scanner: clamd.scanner }, adapters })
const servers = [app]
/** Starts a replica with another scanner. */
async function replicaWith(scanner: ScannerSettings): Promise<TestApp> {
  const replica = await app.replica({ settings: { scanner } })
  servers.push(replica)
  return replica
}
const owner = await app.register('owner@example.org')
const roots = new Map<string, string>()
const providers = new Map<string, string>()
for (const type of ['local', 'no-move', 'no-copy', 'lost', 'memory']) {
  const root = join(app.folder, type)
  if (type !== 'memory') await mkdir(root)
  roots.set(type, root)
  providers.set(type, await app.connectProvider(owner.token, type, type === 'memory' ? {} : { root }, type))
}
const idOf = (type: string) => providers.get(type) ?? ''
const providerId = idOf('local')
const { createApiKey: created } = await app.ask(
  'mutation { createApiKey(input: { name: "all", scopes: [write] }) { key s3 { accessKeyId secretAccessKey endpoint } } }',
  {},
  owner.token,
)
const { key, s3: s3Keys } = created
const s3 = new S3Client({
  endpoint: s3Keys.endpoint,
  region: 'us-east-1',
  credentials: s3Keys,
  forcePathStyle: true,
  maxAttempts: 1,
})
t.teardown(() => s3.destroy())
const { link } = await makeShare(app, owner.token, { providerId, path: '/', kind: 'DROP' })

async function scan(sources: readonly string[]): Promise<void> {
  const mutation =
    'mutation ($s: [UploadSource!]) { updateWorkspace(input: { scannedUploads: $s }) { scannedUploads } }'
  t.same((await app.ask(mutation, { s: sources }, owner.token)).updateWorkspace.scannedUploads, sources)
}
const everything = ['DROP_LINKS', 'API_KEYS', 'SESSIONS']

async function namesIn(type: string): Promise<string[]> {
  const query = 'query ($id: ID!) { folder(providerId: $id, path: "/") { entries(first: 100) { nodes { name } } } }'
  const { folder } = await app.ask(query, { id: idOf(type) }, owner.token)
  return folder.entries.nodes.map(({ name }: { name: string }) => name)
}

/** The files that the server keeps in the reserved folder. */
const keptIn = (type: string) => readdir(join(roots.get(type) ?? '', '.stowage-trash')).catch(() => [])

async function events(
  result: string,
): Promise<{ action: string; path: string; details: { signature?: string; scan?: string } }[]> {
  for (const each of servers) await each.app.services.audit.flush()
  const query =
    'query ($r: String) { auditEvents(filter: { result: $r }, first: 100) { nodes { action path details } } }'
  return (await app.ask(query, { r: result }, owner.token)).auditEvents.nodes
}

interface Outcome {
  status: number
  reason: string | null
}

async function outcomeOf(response: Response): Promise<Outcome> {
  const text = await response.text()
  const reason = response.headers.get('x-stowage-reason') ?? /"reason":"(\w+)"/.exec(text)?.[1] ?? null
  return { status: response.status, reason }
}

const base = (path: string, at = providerId) => ({ providerId: at, path })

/** Sends a file with tus in chunks. */
async function resumable(
  at: TestApp,
  target: Record<string, string>,
  content: Buffer,
  { chunk = mib, token = owner.token, replace = false } = {},
): Promise<Outcome & { address: string }> {
  const client = { url: at.url, token }
  const metadata = metadataHeader({ ...target, ...(replace && { conflict: 'replace' }) })
  const made = await tus(client, 'POST', tusPath, { 'upload-length': `${content.length}`, 'upload-metadata': metadata })
  const address = made.headers.get('location') ?? ''
  if (address === '') return { ...(await outcomeOf(made)), address }
  for (let offset = 0; ; offset += chunk) {
    const body = content.subarray(offset, offset + chunk)
    const response = await tus(client, 'PATCH', address, { 'upload-offset': `${offset}` }, body)
    if (!response.ok || offset + chunk >= content.length) return { ...(await outcomeOf(response)), address }
  }
}

async function ofS3(send: () => Promise<unknown>): Promise<Outcome> {
  try {
    await send()
    return { status: 200, reason: null }
  } catch (error) {
    const { $metadata, $response } = error as {
      $metadata: { httpStatusCode: number }
      $response?: { headers: Record<string, string> }
    }
    return { status: $metadata.httpStatusCode, reason: $response?.headers['x-stowage-reason'] ?? null }
  }
}

/** Sends an object in parts. */
const inParts = (Bucket: string, Key: string, contents: readonly Buffer[]) =>
  ofS3(async () => {
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    const name = { Bucket, Key, UploadId }
    const Parts = []
    for (const [index, Body] of contents.entries()) {
      const { ETag } = await s3.send(new UploadPartCommand({ ...name, PartNumber: index + 1, Body }))
      Parts.push({ PartNumber: index + 1, ETag })
    }
    await s3.send(new CompleteMultipartUploadCommand({ ...name, MultipartUpload: { Parts } }))
  })

/** Ways in which a file gets in, at least one for each endpoint. */
const ways: Record<string, (name: string, content: Buffer<ArrayBuffer>) => Promise<Outcome>> = {
  rest: async (name, content) => outcomeOf(await app.upload(owner.token, providerId, `/${name}`, content)),
  form: async (name, content) => {
    const form = new FormData()
    form.append('providerId', providerId)
    form.append('file', new Blob([content]), name)
    return outcomeOf(await app.request('/api/upload/proxy', { method: 'POST', body: form, token: key }))
  },
  tus: (name, content) => resumable(app, base(`/${name}`), content),
  webdav: async (name, content) => {
    const { status, reason = null } = await davClient(app, key)('PUT', `/local/${name}`, { body: content })
    return { status, reason }
  },
  s3: (Key, Body) => ofS3(() => s3.send(new PutObjectCommand({ Bucket: 'local', Key, Body }))),
  parts: (name, content) => inParts('local', name, [content]),
  mcp: async (name, content) => {
    const { path, ...init } = toolCall('write_file', { ...base(`/${name}`), content: content.toString() })
    const response = await app.request(path, { ...init, token: key })
    const { status, errors } = toolOutcome(response.status, await response.text())
    return { status, reason: errors[0]?.extensions.reason ?? null }
  },
  drop: (name, content) => drop(app, link, `/${name}`, content.toString()),
  'drop-resumable': async (name, content) => {
    const headers = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' }
    const metadata = metadataHeader({ path: `/${name}` })
    return askShare(app, link, 'uploads', {
      method: 'POST',
      headers: { ...headers, 'upload-length': `${content.length}`, 'upload-metadata': metadata },
      body: content,
    })
  },
}

t.test('by default, what recipients of share links send is scanned', async t => {
  const { workspace } = await app.ask('{ workspace { scannedUploads hasScanner } }', {}, owner.token)
  t.same(workspace, { scannedUploads: ['DROP_LINKS'], hasScanner: true })
  t.match(await ways.drop?.('default.txt', eicar), { status: 422, reason: 'INFECTED' })
  t.match(await ways['drop-resumable']?.('default.txt', eicar), { status: 422, reason: 'INFECTED' })
  t.match(await ways.rest?.('session.txt', eicar), { status: 201 })
  t.match(await ways.s3?.('key.txt', eicar), { status: 200 })
  await scan(['API_KEYS'])
  t.match(await ways.drop?.('dropped.txt', eicar), { status: 201 })
  t.match(await ways.s3?.('key.txt', eicar), { reason: 'INFECTED' })
  t.match(await ways.rest?.('session-2.txt', eicar), { status: 201 })
})

t.test('no endpoint stores an infected file, and the audit log has the signature', async t => {
  await scan(everything)
  for (const [name, way] of Object.entries(ways)) {
    const outcome = await way(`infected-${name}.txt`, eicar)
    t.equal(outcome.reason, 'INFECTED', name)
    t.ok(outcome.status >= 400 && outcome.status < 500, `${name}: ${outcome.status}`)
    const clean = await way(`clean-${name}.txt`, Buffer.from('clean'))
    t.ok(clean.status < 300, `${name}: ${clean.status} ${clean.reason}`)
  }
  const found = await namesIn('local')
  t.same(
    found.filter(name => name.startsWith('infected')),
    [],
  )
  t.equal(found.filter(name => name.startsWith('clean')).length, Object.keys(ways).length)
  t.same(await keptIn('local'), [])
  const recorded = await events('INFECTED')
  for (const name of Object.keys(ways)) {
    const event = recorded.find(({ path }) => path === `/infected-${name}.txt`)
    t.match(event, { action: 'UPLOAD', details: { signature: eicarSignature } }, name)
  }
  t.same((await sql<{ n: string }>`select count(*) n from uploads where stored_path is null`.execute(app.db)).rows, [
    { n: '0' },
  ])
})

atNight(t, 'other failures through a link do not hide an infected file', async t => {
  await scan(everything)
  for (let index = 0; index < 11; index++) t.equal((await read(app, link, `/${index}`)).reason, 'SCOPE_REQUIRED')
  t.match(await ways.drop?.('infected-later.txt', eicar), { status: 422, reason: 'INFECTED' })
  const event = (await events('INFECTED')).find(({ path }) => path === '/infected-later.txt')
  t.match(event, { action: 'UPLOAD', details: { signature: eicarSignature } })
})

atNight(t, 'a file over several requests is scanned as a whole, whatever the back end can do', async t => {
  await scan(everything)
  const clean = randomBytes(2 * mib + 1000)
  const infected = Buffer.from(clean)
  // Across two chunks.
  marker.copy(infected, mib - 10)
  for (const type of extent({ gate: ['no-copy'], nightly: ['local', 'no-move', 'no-copy', 'memory'] })) {
    const to = (path: string) => base(path, idOf(type))
    t.match(await resumable(app, to('/infected.bin'), infected), { status: 422, reason: 'INFECTED' }, type)
    t.match(await inParts(type, 'infected-parts.bin', [infected]), { reason: 'INFECTED' }, type)
    t.same(
      (await namesIn(type)).filter(name => name.startsWith('infected')),
      [],
      type,
    )
    t.match(await resumable(app, to('/clean.bin'), clean), { status: 204 }, type)
    const stored = await app.download(owner.token, idOf(type), '/clean.bin')
    t.ok(Buffer.from(await stored.arrayBuffer()).equals(clean), type)
    const halves = [clean, clean]
    t.match(await inParts(type, 'parts.bin', halves), { status: 200 }, type)
    const joined = await app.download(owner.token, idOf(type), '/parts.bin')
    t.ok(Buffer.from(await joined.arrayBuffer()).equals(Buffer.concat(halves)), type)
    t.match(await resumable(app, to('/clean.bin'), infected, { replace: true }), { reason: 'INFECTED' }, type)
    t.match(
      await resumable(app, to('/clean.bin'), Buffer.concat([clean, clean]), { replace: true }),
      { status: 204 },
      type,
    )
    t.equal(
      (await app.download(owner.token, idOf(type), '/clean.bin')).headers.get('content-length'),
      `${2 * clean.length}`,
    )
    t.same(await keptIn(type), [], type)
  }
  t.ok(
    (await events('INFECTED')).every(({ details }) =>
      /^Stowage\.(Eicar|Marker)\.UNOFFICIAL$/.test(details.signature ?? ''),
    ),
  )
  t.ok((await events('INFECTED')).some(({ details }) => details.signature === markerSignature))
})

t.test(
  'a server that is killed between two steps shows nothing that was not scanned, and another one continues',
  async t => {
    await scan(everything)
    const replica = await app.replica()
    const clean = randomBytes(2 * mib + 500)
    const infected = Buffer.from(clean)
    marker.copy(infected, 1000)
    const at = idOf('lost')
    for (const step of ['complete', 'move']) {
      for (const [name, content] of [
        ['clean', clean],
        ['infected', infected],
      ] as const) {
        const path = `${name}-${step}.bin`
        kill.after = step
        const first = await resumable(app, base(`/${path}`, at), content)
        const isSeen = (await namesIn('lost')).includes(path)
        t.equal(isSeen, step === 'move' && name === 'clean', `${path} is seen`)
        kill.after = ''
        if (first.reason === 'INFECTED') continue
        t.match(first, { status: 503 }, path)
        const offset = 2 * mib
        const client = { url: replica.url, token: owner.token }
        const rest = content.subarray(offset)
        const second = await outcomeOf(
          await tus(client, 'PATCH', first.address, { 'upload-offset': `${offset}` }, rest),
        )
        t.match(second, name === 'clean' ? { status: 204 } : { status: 422, reason: 'INFECTED' }, path)
        t.equal((await namesIn('lost')).includes(path), name === 'clean', path)
        if (name === 'clean') t.ok((await readFile(join(roots.get('lost') ?? '', path))).equals(content))
      }
    }
    const accepting = await replicaWith({
      address: { host: '127.0.0.1', port: await freePort() },
      acceptsUnscanned: true,
    })
    kill.after = 'move'
    const unscanned = await resumable(accepting, base('/unscanned.bin', at), clean)
    kill.after = ''
    t.match(unscanned, { status: 503 })
    const client = { url: replica.url, token: owner.token }
    const end = { 'upload-offset': `${2 * mib}` }
    t.equal((await tus(client, 'PATCH', unscanned.address, end, clean.subarray(2 * mib))).status, 204)
    await replica.app.services.audit.flush()
    const [stored] = (await events('OK')).filter(({ path }) => path === '/unscanned.bin')
    t.equal(stored?.details.scan, 'UNREACHABLE', 'the event of the other server says that nothing has scanned the file')
    kill.after = 'complete'
    const left = await resumable(app, base('/left.bin', at), clean)
    kill.after = ''
    t.equal((await keptIn('lost')).length, 1, 'the file waits for its scan')
    t.equal((await tus({ url: replica.url, token: owner.token }, 'DELETE', left.address)).status, 204)
    t.same(await keptIn('lost'), [], 'and goes with its upload')
    kill.after = 'complete'
    await resumable(app, base('/swept.bin', at), clean)
    kill.after = ''
    await sql`update uploads set expires_at = now() where stored_path is null`.execute(app.db)
    await replica.app.services.uploads.sweep(AbortSignal.timeout(10_000))
    t.same(await keptIn('lost'), [], 'the sweep frees it, too')
    t.notOk((await namesIn('lost')).includes('swept.bin'))
  },
)

t.test('nothing is visible while the scanner works, and a client that leaves ends the scan', async t => {
  await scan(everything)
  const fake = await startFakeClamd(t)
  const waiting: Socket[] = []
  fake.behave = socket => waiting.push(socket)
  const slow = await replicaWith(fake.scanner)
  const stop = new AbortController()
  const content = randomBytes(mib)
  const sent = slow.request(`/api/upload/proxy?${new URLSearchParams(base('/slow.bin'))}`, {
    method: 'POST',
    body: content,
    token: owner.token,
    signal: stop.signal,
  })
  const failed = t.rejects(sent, { name: 'AbortError' })
  await until(() => fake.open() === 1)
  const later = resumable(slow, base('/slow-resumable.bin'), Buffer.concat([content, content]))
  await until(() => fake.open() === 2)
  t.equal((await keptIn('local')).length, 1, 'one is complete in the reserved folder')
  t.same(
    (await namesIn('local')).filter(name => name.startsWith('slow')),
    [],
  )
  stop.abort()
  await failed
  await until(() => fake.open() === 1)
  waiting[1]?.destroy()
  t.match(await later, { status: 503, reason: 'UNAVAILABLE' })
  t.same(
    (await namesIn('local')).filter(name => name.startsWith('slow')),
    [],
  )
})

atNight(t, 'the scan at the end of an upload goes on when its client has left', async t => {
  await scan(everything)
  const fake = await startFakeClamd(t)
  const waiting: Socket[] = []
  fake.behave = socket => {
    // A chunk without bytes ends the file.
    socket.on('data', bytes => {
      if (Buffer.from(bytes).subarray(-4).equals(Buffer.alloc(4))) waiting.push(socket)
    })
  }
  const slow = await replicaWith(fake.scanner)
  const stop = new AbortController()
  const name = { Bucket: 'local', Key: 'left-early.bin' }
  const endpoint = s3Keys.endpoint.replace(app.url, slow.url)
  const at = new S3Client({ endpoint, region: 'us-east-1', credentials: s3Keys, forcePathStyle: true, maxAttempts: 1 })
  t.teardown(() => at.destroy())
  const { UploadId } = await at.send(new CreateMultipartUploadCommand(name))
  const part = { ...name, UploadId, PartNumber: 1 }
  const { ETag } = await at.send(new UploadPartCommand({ ...part, Body: randomBytes(mib) }))
  const end = { ...name, UploadId, MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } }
  const left = t.rejects(at.send(new CompleteMultipartUploadCommand(end), { abortSignal: stop.signal }))
  await until(() => waiting.length === 1)
  stop.abort()
  await left
  t.notOk((await namesIn('local')).includes(name.Key))
  waiting[0]?.write('stream: OK\0')
  await until(async () => (await namesIn('local')).includes(name.Key))
  t.equal(
    (await at.send(new CompleteMultipartUploadCommand(end))).$metadata.httpStatusCode,
    200,
    'a client may ask again',
  )
  t.equal(waiting.length, 1, 'it is scanned once')
})

/** What a scanner does wrong. */
const faults: Record<string, (socket: Socket) => void> = {
  'closes at once': socket => socket.destroy(),
  'resets in the middle': socket => socket.once('data', () => socket.resetAndDestroy()),
  'says that the file is clean before it has it': socket => socket.write('stream: OK\0'),
  'answers without an end': socket => socket.write('x'.repeat(10_000)),
  'answers something else': socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n\0'),
  'says that its command timed out': socket => socket.end('COMMAND READ TIMED OUT\0'),
}

t.test('a scanner that fails refuses or accepts uploads, as the setting says', async t => {
  await scan(everything)
  const fake = await startFakeClamd(t)
  const down = { host: '127.0.0.1', port: await freePort() }
  const missing = { path: join(app.folder, 'no-such-socket') }
  for (const acceptsUnscanned of extent({ gate: [false], nightly: [false, true] })) {
    const at = async (address: typeof down | typeof missing) => replicaWith({ address, acceptsUnscanned })
    const isDown = { name: 'is down', behave: () => {}, address: down }
    const cases = extent<{ name: string; behave: typeof fake.behave; address: object }[]>({
      gate: [isDown],
      nightly: [
        ...Object.entries(faults).map(([name, behave]) => ({ name, behave, address: fake.scanner.address })),
        isDown,
        { name: 'has no socket', behave: () => {}, address: missing },
      ],
    })
    const atDown = await at(down)
    const server = {
      faulty: isNight ? await at(fake.scanner.address as typeof down) : atDown,
      down: atDown,
      none: isNight ? await at(missing) : atDown,
    }
    for (const [index, { name, behave, address }] of cases.entries()) {
      fake.behave = behave
      const replica = address === down ? server.down : address === missing ? server.none : server.faulty
      const file = `unscanned-${acceptsUnscanned}-${index}`
      const small = await outcomeOf(await replica.upload(owner.token, providerId, `/${file}.txt`, randomBytes(300_000)))
      const large = await resumable(replica, base(`/${file}.bin`), randomBytes(2 * mib))
      const wanted = acceptsUnscanned ? { status: 201 } : { status: 503, reason: 'UNAVAILABLE' }
      t.match(small, wanted, `${name}: ${JSON.stringify(small)}`)
      t.match(large, acceptsUnscanned ? { status: 204 } : wanted, `${name}: ${JSON.stringify(large)}`)
      const stored = (await namesIn('local')).filter(found => found.startsWith(file))
      t.equal(stored.length, acceptsUnscanned ? 2 : 0, name)
    }
    const unscanned = (await events(acceptsUnscanned ? 'OK' : 'UNAVAILABLE')).filter(({ details }) => details.scan)
    t.equal(unscanned.filter(({ path }) => path.startsWith(`/unscanned-${acceptsUnscanned}`)).length, 2 * cases.length)
    t.ok(unscanned.every(({ details }) => details.scan === 'UNREACHABLE'))
    t.equal(server.down.logged().match(/The virus scanner failed/g)?.length, 1, 'one warning, not one for each file')
  }
})

t.test('a scanner that hangs fails within its time', async t => {
  const fake = await startFakeClamd(t)
  const { address } = fake.scanner
  const timeouts = { connect: 200, progress: 50, answer: 50 }
  const signal = AbortSignal.timeout(30_000)
  {
    using quiet = await ClamdScan.begin(address, timeouts, signal)
    await quiet.write(Buffer.from('x'))
    await t.rejects(quiet.finish(), { name: 'ScanFailure', message: 'clamd did not respond for 0.05 s' })
  }
  let paused: Socket | undefined
  fake.behave = socket => {
    paused = socket.pause()
  }
  {
    using full = await ClamdScan.begin(address, timeouts, signal)
    const fill = async () => {
      for (;;) await full.write(Buffer.alloc(mib))
    }
    await t.rejects(fill(), { name: 'ScanFailure', message: 'clamd did not respond for 0.05 s' })
  }
  paused?.resume()
  fake.behave = () => {}
  await t.rejects(clamdVersion(address, timeouts), { name: 'ScanFailure' })
  const stop = new AbortController()
  {
    using cut = await ClamdScan.begin(address, usualTimeouts, stop.signal)
    const finished = cut.finish()
    stop.abort(new Error('no longer'))
    await t.rejects(finished, { message: 'no longer' })
  }
  await t.rejects(ClamdScan.begin(address, usualTimeouts, stop.signal), { message: 'no longer' })
  await until(() => fake.open() === 0)
})

atNight(t, 'a slow sender gives way to those who find no free slot of the same limit', t => {
  let now = 0
  const slots = new ScanSlots({ credential: 2, links: 2, member: 3, all: 4 }, () => now)
  const given: string[] = []
  const take = (name: string, owners: { credential: string; member: string }) => {
    const scan = slots.take(owners, () => given.push(name))
    return (bytes: number) => {
      scan.add(bytes)
      scan.awaitBytes()
      return scan
    }
  }
  const [own, other] = [
    { credential: 'key', member: 'ann' },
    { credential: 'other', member: 'ben' },
  ]
  const refused = { message: /^Too many files/ }
  take('slow', own)(10_000)
  const sendFast = take('fast', own)
  sendFast(10_000_000)
  take('slower', other)(0)
  now = 9000
  t.throws(() => take('early', own), refused, 'nobody is slow yet')
  sendFast(10_000_000)
  now = 11_000
  const sendNext = take('next', own)
  sendNext(0)
  t.same(given, ['slow'], 'and not the slower one of another limit')
  t.throws(() => take('last', own), refused, 'the others are fast or new')
  now = 18_000
  sendFast(1000).add(1000)
  now = 90_000
  sendNext(1_000_000)
  t.throws(() => take('busy', own), refused, 'nobody waits for a sender whose bytes are on their way')
  sendFast(100_000_000)
  now = 100_001
  sendNext(1_000_000)
  take('later', own)
  t.same(given, ['slow', 'fast'], 'nobody may pause for longer who has sent much before')
  t.end()
})

atNight(t, 'the time of the scanner, of its connection and of the back end is not that of the sender', async t => {
  let now = 0
  const owners = { credential: 'key', member: 'ann' }
  const slots = new ScanSlots({ credential: 1, links: 1, member: 1, all: 1 }, () => now)
  const nothing = () => {}
  const waits = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const [connected, scanned] = waits
  let isEnded = false
  const scan = new UploadScan({
    takeSlot: giveWay => slots.take(owners, giveWay),
    connect: async () => {
      await connected.promise
      return {
        write: () => scanned.promise,
        finish: async () => null,
        [Symbol.dispose]: () => {
          isEnded = true
        },
      }
    },
    recording: { add: nothing },
    acceptsUnscanned: false,
    onUnscanned: async () => {},
    onFailure: nothing,
    onResult: nothing,
  })
  const sent = new PassThrough({ highWaterMark: mib })
  const body = scan.through(sent)
  const isRefused = (late: string) => {
    now += 60_000
    t.throws(() => slots.take(owners, null), { message: /^Too many files/ }, late)
  }
  sent.write(Buffer.alloc(200_000))
  await until(() => sent.readableLength === 0)
  isRefused('while it connects')
  connected.resolve()
  await setImmediate()
  isRefused('while it scans')
  scanned.resolve()
  await until(() => body.readableLength > 0)
  isRefused('while the back end takes nothing')
  const failed = once(body.resume(), 'error')
  await until(() => body.readableLength === 0)
  now += 9_999
  t.throws(() => slots.take(owners, null), { message: /^Too many files/ }, 'while the sender is not yet late')
  now += 1
  slots.take(owners, null)[Symbol.dispose]()
  t.match(await failed, [{ reason: 'UNAVAILABLE', message: /^The file arrived so slowly/ }])
  t.ok(isEnded)
})

atNight(t, 'a file that is too long for the scanner is refused for good, or accepted', async t => {
  await scan(everything)
  const small = await startClamd(t, { streamMax: 1 })
  const before = await keptIn('local')
  const content = randomBytes(3 * mib)
  const refusing = await replicaWith(small.scanner)
  const refused = await outcomeOf(await refusing.upload(owner.token, providerId, '/long.bin', content))
  t.match(refused, { status: 413, reason: 'TOO_LARGE' })
  const long = await resumable(refusing, base('/long-resumable.bin'), content)
  t.match(long, { status: 413, reason: 'TOO_LARGE' })
  // It stays if the answer of the scanner was lost.
  await tus({ url: refusing.url, token: owner.token }, 'DELETE', long.address)
  t.same(
    (await namesIn('local')).filter(name => name.startsWith('long')),
    [],
  )
  t.same(await keptIn('local'), before)
  const accepting = await replicaWith({ ...small.scanner, acceptsUnscanned: true })
  t.equal((await accepting.upload(owner.token, providerId, '/long.bin', content)).status, 201)
  t.match(await resumable(accepting, base('/long-resumable.bin'), content), { status: 204 })
  t.match(
    (await events('TOO_LARGE')).map(({ details }) => details.scan),
    ['TOO_LONG', 'TOO_LONG'],
  )
})

atNight(t, 'a scanner that is restarted in the middle of a file ends no upload', async t => {
  await scan(everything)
  const fake = await startFakeClamd(t)
  fake.behave = socket => {
    socket.once('data', bytes => {
      if (String(bytes).includes('VERSION')) socket.end('ClamAV 1.4.3\0')
      else socket.resetAndDestroy()
    })
  }
  const before = await keptIn('local')
  const restarted = await replicaWith(fake.scanner)
  const content = randomBytes(8 * mib + 1000)
  const first = await resumable(restarted, base('/restarted.bin'), content)
  t.match(first, { status: 413, reason: 'TOO_LARGE' })
  t.match(restarted.logged(), /closed the connection in the middle of a file/)
  const head = await tus({ url: app.url, token: owner.token }, 'HEAD', first.address)
  const offset = Number(head.headers.get('upload-offset'))
  t.ok(head.ok && offset > 0, 'the upload stays')
  const rest = content.subarray(offset)
  const client = { url: app.url, token: owner.token }
  t.match(await outcomeOf(await tus(client, 'PATCH', first.address, { 'upload-offset': `${offset}` }, rest)), {
    status: 204,
  })
  t.ok((await readFile(join(roots.get('local') ?? '', 'restarted.bin'))).equals(content))
  t.same(await keptIn('local'), before)
})

atNight(t, 'a scanner that was down scans again when it is back', async t => {
  await scan(everything)
  await clamd.stop()
  t.match(await ways.rest?.('down.txt', Buffer.from('clean')), { status: 503, reason: 'UNAVAILABLE' })
  t.match(await checkScanner(app.app.services), [{ level: 'PROBLEM', text: /clamd cannot be reached\. Start clamd/ }])
  await clamd.start()
  t.match(await ways.rest?.('down.txt', Buffer.from('clean')), { status: 201 })
  t.match(await checkScanner(app.app.services), [{ level: 'OK', text: /^ClamAV \d.* responds\.$/ }])
})

atNight(t, 'an upload that began before the workspace chose to scan it has to begin again', async t => {
  await scan([])
  const content = randomBytes(3 * mib)
  const client = { url: app.url, token: owner.token }
  const metadata = metadataHeader(base('/early.bin'))
  const made = await tus(client, 'POST', tusPath, { 'upload-length': `${content.length}`, 'upload-metadata': metadata })
  const address = made.headers.get('location') ?? ''
  const first = await tus(client, 'PATCH', address, { 'upload-offset': '0' }, content.subarray(0, 2 * mib))
  t.equal(first.status, 204)
  await scan(everything)
  const last = await outcomeOf(
    await tus(client, 'PATCH', address, { 'upload-offset': `${2 * mib}` }, content.subarray(2 * mib)),
  )
  t.match(last, { status: 404, reason: 'NOT_FOUND' })
  t.notOk((await namesIn('local')).includes('early.bin'))
  t.match(await resumable(app, base('/early.bin'), content), { status: 204 })
})

atNight(
  t,
  'an upload that has to begin again is not reported as stored because the file there resembles it',
  async t => {
    await scan([])
    const at = idOf('lost')
    const before = randomBytes(2 * mib + 500)
    const content = Buffer.from(before)
    content.fill(0, 1000, 2000)
    t.equal((await app.upload(owner.token, at, '/alike.bin', before)).status, 201)
    kill.before = 'complete'
    const first = await resumable(app, base('/alike.bin', at), content, { replace: true })
    kill.before = ''
    t.match(first, { status: 503 })
    await scan(everything)
    const client = { url: app.url, token: owner.token }
    const rest = content.subarray(2 * mib)
    const second = await tus(client, 'PATCH', first.address, { 'upload-offset': `${2 * mib}` }, rest)
    t.match(await outcomeOf(second), { status: 404, reason: 'NOT_FOUND' })
    const stored = () => readFile(join(roots.get('lost') ?? '', 'alike.bin'))
    t.ok((await stored()).equals(before))
    t.match(await resumable(app, base('/alike.bin', at), content, { replace: true }), { status: 204 })
    t.ok((await stored()).equals(content))
  },
)

t.test('no link leads past the scanner', async t => {
  const ticket = `mutation ($input: CreateUploadTicketInput!) { createUploadTicket(input: $input) { isDirect } }`
  const isDirect = async () =>
    (await app.ask(ticket, { input: { providerId: idOf('lost'), path: '/direct' } }, owner.token)).createUploadTicket
      .isDirect
  await scan(['DROP_LINKS', 'API_KEYS'])
  t.equal(await isDirect(), true)
  await scan(everything)
  t.equal(await isDirect(), false)
})

atNight(t, '200 MB go through the scanner in little memory', async t => {
  await scan(everything)
  const chunk = Buffer.alloc(mib, 'clean ')
  const bytes = 200
  let peak = 0
  const { arrayBuffers: before } = process.memoryUsage()
  async function* content() {
    for (let sent = 0; sent < bytes; sent++) {
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before)
      yield chunk
    }
  }
  const body = Readable.toWeb(Readable.from(content())) as unknown as NonNullable<RequestInit['body']>
  const response = await app.upload(owner.token, providerId, '/large.bin', body)
  t.equal(response.status, 201)
  t.equal((await response.json()).size, bytes * mib)
  t.ok(peak < 64 * mib, `${Math.round(peak / mib)} MiB of buffers`)
})
