/** Uses adapters that violate the contract through the normal endpoints. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { StoragePath, StorageProvider } from '../../adapters/contract.ts'
import { eventually, head, talk } from '../http/socket.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight, extent } from '../support/extent.ts'
import { adapter, badOpens, brokenProvider, oddErrors, secret, violations } from './violations.ts'

/** Milliseconds: more than a busy machine needs for a call that ends. */
const metadataTimeout = 600
/** Milliseconds after which a client disconnects: more than a busy machine needs for an answer. */
const clientTimeout = 60_000
/** The same for an answer that never ends. */
const endlessTimeout = 3000

interface Answer {
  /** 'ok', 'left' if the client disconnected after its timeout, 'cut' if the body was incomplete, or the reason of an error. */
  outcome: string
  text: string
  status: number
}

const parameters = '$id: ID!, $other: ID!'
const documents: Record<string, string> = {
  entry: `query (${parameters}) { entry(providerId: $id, path: "/folder/file") { name ... on File { size etag mimeType } }
    entryOther: entry(providerId: $other, path: "/") { name } }`,
  list: `query (${parameters}) { folder(providerId: $id, path: "/folder") { entries { nodes { name path } } }
    entry(providerId: $other, path: "/") { name } }`,
  createFolder: `mutation (${parameters}) { createFolder(input: { providerId: $id, path: "/folder/new" }) { path }
    copy(input: { providerId: $other, path: "/kept", toPath: "/again", conflict: REPLACE }) { path } }`,
  copyOut: `mutation (${parameters}) { copy(input: { providerId: $id, path: "/folder", toProviderId: $other, toPath: "/out" }) { path } }`,
  copyFileOut: `mutation (${parameters}) { copy(input: { providerId: $id, path: "/folder/file", toProviderId: $other, toPath: "/out" }) { path } }`,
  copyIn: `mutation (${parameters}) { copy(input: { providerId: $other, path: "/kept", toProviderId: $id, toPath: "/folder/in" }) { path } }`,
  copyWithin: `mutation (${parameters}) { copy(input: { providerId: $id, path: "/folder/file", toPath: "/folder/copied" }) { path }
    again: copy(input: { providerId: $other, path: "/kept", toPath: "/again", conflict: REPLACE }) { path } }`,
  moveWithin: `mutation (${parameters}) { move(input: { providerId: $id, path: "/folder/file", toPath: "/folder/moved" }) { path }
    again: copy(input: { providerId: $other, path: "/kept", toPath: "/again", conflict: REPLACE }) { path } }`,
  quota: `query (${parameters}) { provider(id: $id) { quota { used total } capabilities { serverSideCopy maxFileSize } }
    entry(providerId: $other, path: "/") { name } }`,
  deleteTree: `mutation (${parameters}) { delete(input: { providerId: $id, path: "/folder", recursive: true }) { deletedPath }
    again: copy(input: { providerId: $other, path: "/kept", toPath: "/again", conflict: REPLACE }) { path } }`,
}

/** Uses all operations like a normal client. */
async function askAll(
  app: TestApp,
  token: string,
  id: string,
  other: string,
  isEndless: boolean,
): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>()
  const request = (path: string, init: RequestInit = {}, timeout = clientTimeout) =>
    attempt(timeout, signal => app.request(path, { ...init, token, signal }))
  const reading = isEndless ? endlessTimeout : clientTimeout
  const query = new URLSearchParams({ providerId: id, path: '/folder/file' })
  answers.set('download', await request(`/api/download/proxy?${query}`, {}, reading))
  answers.set('range', await request(`/api/download/proxy?${query}`, { headers: { range: 'bytes=2-5' } }, reading))
  query.set('path', '/folder/uploaded')
  // This looks at the path first, which has a short timeout.
  query.set('conflict', 'rename')
  answers.set('upload', await request(`/api/upload/proxy?${query}`, { method: 'POST', body: 'twelve bytes' }))
  const ask = async (name: string, document: string) => {
    const body = JSON.stringify({ query: document, variables: { id, other } })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    answers.set(name, await request('/graphql', init))
    if (name.endsWith('Out')) {
      const input = { providerId: other, path: '/out', recursive: true }
      await app.graphql('mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }', { input }, token)
    }
  }
  for (const [name, document] of Object.entries(documents)) await ask(name, document)
  return answers
}

async function attempt(timeout: number, send: (signal: AbortSignal) => Promise<Response>): Promise<Answer> {
  const signal = AbortSignal.timeout(timeout)
  let response: Response | undefined
  try {
    response = await send(signal)
    const text = await response.text()
    return { outcome: reasonIn(text) ?? 'ok', text, status: response.status }
  } catch {
    return { outcome: signal.aborted ? 'left' : 'cut', text: '', status: response?.status ?? 0 }
  }
}

function reasonIn(text: string): string | undefined {
  if (!text.startsWith('{')) return undefined
  const { errors } = JSON.parse(text) as { errors?: { extensions: { reason: string } }[] }
  return errors?.[0]?.extensions.reason
}

const entryFaults = ['entry', 'download', 'upload', 'list', 'copyOut', 'copyIn', 'deleteTree']
const listFaults = ['list', 'copyOut', 'deleteTree']
const everything = ['download', 'upload', ...Object.keys(documents)]
const expect = (reason: string, names: readonly string[]) => Object.fromEntries(names.map(name => [name, reason]))

/** The required outcomes, by the start of a case's name. Other cases may succeed or be a fault of the back end. */
const expected: Record<string, Record<string, string>> = {
  size: expect('BACK_END_FAULT', entryFaults),
  kind: expect('BACK_END_FAULT', entryFaults),
  entry: expect('BACK_END_FAULT', entryFaults),
  // Without these properties a change during the copy would go unnoticed.
  facts: { ...expect('ok', everything), moveWithin: 'COPY_ONLY' },
  page: expect('BACK_END_FAULT', listFaults),
  cursor: expect('BACK_END_FAULT', ['copyOut', 'deleteTree']),
  'cursor-repeats': expect('BACK_END_FAULT', ['list', 'copyOut', 'deleteTree']),
  'names-bad': { list: 'ok', copyOut: 'ok', deleteTree: 'NOT_EMPTY' },
  'body-text': expect('BACK_END_FAULT', ['download', 'copyFileOut', 'moveWithin']),
  'body-null': expect('BACK_END_FAULT', ['download', 'copyFileOut', 'moveWithin']),
  'body-web': expect('BACK_END_FAULT', ['download', 'copyFileOut', 'moveWithin']),
  'body-short': { download: 'cut', copyFileOut: 'BACK_END_FAULT', moveWithin: 'BACK_END_FAULT' },
  'body-empty': { download: 'cut', copyFileOut: 'BACK_END_FAULT', moveWithin: 'BACK_END_FAULT' },
  'body-long': { copyFileOut: 'BACK_END_FAULT', moveWithin: 'BACK_END_FAULT' },
  'body-endless': { copyFileOut: 'BACK_END_FAULT', moveWithin: 'BACK_END_FAULT' },
  'body-of': { download: 'cut', copyFileOut: 'BACK_END_FAULT', moveWithin: 'BACK_END_FAULT' },
  'body-fail': { download: 'cut', copyFileOut: 'BACK_END_FAULT', moveWithin: 'BACK_END_FAULT' },
  'body-destroyed': { download: 'cut', copyFileOut: 'BACK_END_FAULT', moveWithin: 'BACK_END_FAULT' },
  'read-nothing': expect('BACK_END_FAULT', ['download', 'copyFileOut', 'moveWithin']),
  'write-nothing': expect('BACK_END_FAULT', ['upload', 'copyIn']),
  'write-of-other-size': expect('BACK_END_FAULT', ['upload', 'copyIn']),
  'handle-null': expect('BACK_END_FAULT', ['download']),
  'handle-empty': expect('BACK_END_FAULT', ['download']),
  'handle-that-fails': expect('BACK_END_FAULT', ['download']),
  small: expect('BACK_END_FAULT', ['download']),
  'open-file-nothing': expect('BACK_END_FAULT', ['download']),
  'quota-null': expect('BACK_END_FAULT', ['quota']),
  'quota-odd': expect('ok', ['quota']),
  copy: expect('BACK_END_FAULT', ['copyWithin', 'moveWithin']),
  throws: expect('BACK_END_FAULT', ['download', 'upload', 'entry', 'list', 'createFolder', 'copyOut', 'deleteTree']),
  answers: expect('BACK_END_FAULT', ['download', 'upload', 'entry', 'list', 'copyOut', 'deleteTree']),
  never: expect('UNAVAILABLE', [
    'download',
    'upload',
    'entry',
    'list',
    'createFolder',
    'copyOut',
    'copyIn',
    'deleteTree',
    'quota',
  ]),
}

/** The allowed outcomes of all other cases: errors that name a fault of the adapter, never one of the server. */
const harmless = /^(ok|BACK_END_FAULT|UNAVAILABLE|NOT_EMPTY|NOT_FOUND|PRECONDITION_FAILED|RANGE_NOT_SATISFIABLE)$/

t.test('any result of an adapter leads to a clear error, and the server keeps working', async t => {
  const paths: string[] = []
  const brokenAdapters = Object.entries(violations).map(([type, violation]) =>
    adapter(type, () => brokenProvider(violation, paths)),
  )
  const app = await startApp(t, { adapters: [memoryAdapter, ...brokenAdapters] as never, metadataTimeout })
  const { token } = await app.register('owner@example.org')
  const other = await app.connectProvider(token, 'memory', {})
  await app.upload(token, other, '/kept', 'kept')
  const types = Object.keys(violations)
  // By day, one violation is tried of every third kind with a required outcome.
  const starts = Object.keys(expected).filter((start, index) => index % 3 === 0 || start === 'names-bad')
  const sampled = new Set(starts.map(start => types.find(type => type.startsWith(start))))
  for (const type of extent({ gate: types.filter(type => sampled.has(type)), nightly: types })) {
    await t.test(type, async t => {
      const id = await app.connectProvider(token, type, {})
      const answers = await askAll(app, token, id, other, type === 'body-endless')
      const wanted = Object.entries(expected).filter(([start]) => type.startsWith(start))
      t.ok(wanted.length > 0, 'the case has a known outcome')
      const outcomes = Object.fromEntries(wanted.flatMap(([, outcomes]) => Object.entries(outcomes)))
      for (const [name, { outcome, text, status }] of answers) {
        t.notMatch(text, secret, `${name}: the message of the adapter is not shown`)
        if (outcomes[name]) t.equal(outcome, outcomes[name], `${name} ${status} ${text.slice(0, 500)}`)
        else t.match(outcome, type.startsWith('body-') || type.startsWith('handle-') ? /./ : harmless, name)
        t.not(outcome, 'INTERNAL', name)
      }
      if (type === 'names-bad') t.match(answers.get('list')?.text, '"nodes":[]')
      await isWell(t, app, token, other)
    })
  }
  const outside = paths.filter(path => path !== '' && path !== 'folder' && !path.startsWith('folder/'))
  t.same([...new Set(outside)], [], 'no name led to another path')
  t.notOk(paths.some(path => path.split('/').some(name => name === '..' || name === '.' || name.includes('\0'))))
})

/** Checks the log, too, because something can fail although the response is correct. */
async function isWell(t: Test, app: TestApp, token: string, other: string): Promise<void> {
  const kept = await app.download(token, other, '/kept')
  t.equal(await kept.text(), 'kept', 'other providers still work')
  await eventually(() => {
    if (app.app.server.transfers.size > 0)
      throw new Error(`${app.app.server.transfers.size} transfers are still running`)
  })
}

atNight(t, 'invalid properties of adapter errors are not returned to clients', async t => {
  const brokenAdapters = Object.entries(oddErrors).map(([type, error]) =>
    adapter(type, () =>
      brokenProvider(() => ({
        read: async () => {
          throw error
        },
      })),
    ),
  )
  const app = await startApp(t, { adapters: brokenAdapters, metadataTimeout })
  const { token } = await app.register('owner@example.org')
  for (const type of Object.keys(oddErrors)) {
    const id = await app.connectProvider(token, type, {})
    const response = await app.download(token, id, '/folder/file')
    const text = await response.text()
    t.match([response.status, reasonIn(text)], [503, 'UNAVAILABLE'], type)
    t.match(response.headers.get('retry-after'), /^\d{1,6}$/, type)
    t.ok(text.length < 2000, `${type}: the message is short`)
    t.match(JSON.parse(text).errors[0].message, /\w/, type)
    t.notMatch(text, secret, type)
  }
})

t.test('a provider whose adapter does not open cannot be connected', async t => {
  const app = await startApp(t, {
    adapters: Object.entries(badOpens).map(([type, open]) => adapter(type, open)),
    metadataTimeout,
  })
  const { token } = await app.register('owner@example.org')
  for (const type of Object.keys(badOpens)) {
    const { errors } = await app.graphql(
      'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }',
      { input: { type, name: type, config: {} } },
      token,
    )
    t.equal(errors[0]?.extensions.reason, type === 'open-never' ? 'UNAVAILABLE' : 'BACK_END_FAULT', type)
    t.notMatch(JSON.stringify(errors), secret, type)
  }
  t.same((await app.ask('{ providers { id } }', {}, token)).providers, [])
})

t.test('a disconnecting client ends operations that never finish', async t => {
  const started: { what: string; signal: AbortSignal }[] = []
  const wait = (what: string) => (_path: StoragePath, options: { signal: AbortSignal }) => {
    started.push({ what, signal: options.signal })
    return new Promise<never>(() => {})
  }
  let pages = 0
  const endless = () => ({
    read: wait('read'),
    write: (path: StoragePath, _body: unknown, options: { signal: AbortSignal }) => wait('write')(path, options),
    list: async (_path: StoragePath, options: { signal: AbortSignal }) => {
      // A signal ends with its call, so the one of the latest page counts.
      const known = started.find(({ what }) => what === 'list')
      if (known) known.signal = options.signal
      else started.push({ what: 'list', signal: options.signal })
      pages += 1
      await sleep(1)
      return { entries: [], cursor: `${pages}` }
    },
  })
  const app = await startApp(t, { adapters: [adapter('endless', () => brokenProvider(endless)), memoryAdapter] })
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'endless', {})
  const other = await app.connectProvider(token, 'memory', {})
  await app.upload(token, other, '/from/file', 'content')
  const authorization = `Bearer ${token}`
  // A folder that is to be replaced has to be empty, so it is listed.
  const query = `mutation { copy(input: { providerId: "${other}", path: "/from", toProviderId: "${id}", toPath: "/folder",
    conflict: REPLACE }) { path } }`
  const json = JSON.stringify({ query })
  const requests: Record<string, string> = {
    read: head('GET', `${app.url}/api/download/proxy?providerId=${id}&path=/folder/file`, { authorization }),
    write: `${head('POST', `${app.url}/api/upload/proxy?providerId=${id}&path=/folder/new`, {
      authorization,
      'content-length': 1,
    })}x`,
    list: `${head('POST', `${app.url}/graphql`, {
      authorization,
      'content-type': 'application/json',
      'content-length': json.length,
    })}${json}`,
  }
  for (const [what, request] of Object.entries(requests)) {
    // fetch would open a new connection at once and keep the server waiting for a request.
    const client = await talk(Number(new URL(app.url).port))
    await client.send(request)
    await eventually(() => {
      if (!started.some(call => call.what === what)) throw new Error(`${what} has not started`)
    })
    client.socket.destroy()
    await eventually(() => {
      if (!started.find(call => call.what === what)?.signal.aborted) throw new Error(`${what} continues`)
      if (app.app.server.transfers.size > 0) throw new Error('a transfer is still running')
    })
    t.equal(client.received(), '', what)
  }
  const seen = pages
  await sleep(100)
  t.ok(pages <= seen + 1, 'no further page is requested')
})

t.test('a provider that fails to close does not block the stop of the server', async t => {
  const closings: Record<string, StorageProvider['close']> = {
    'close-throws': () => {
      throw new Error(secret)
    },
    'close-rejects': () => Promise.reject(null),
    'close-never': () => new Promise(() => {}),
  }
  const open = (close: StorageProvider['close']) => () => Object.assign(new MemoryProvider(1e6), { close })
  const app = await startApp(t, {
    adapters: Object.entries(closings).map(([type, close]) => adapter(type, open(close))),
    metadataTimeout,
  })
  const { token } = await app.register('owner@example.org')
  for (const type of Object.keys(closings)) {
    const id = await app.connectProvider(token, type, {})
    t.equal((await app.upload(token, id, '/file', 'content')).status, 201, type)
  }
  await app.close()
  t.match(app.logged(), 'A provider could not be closed')
})
