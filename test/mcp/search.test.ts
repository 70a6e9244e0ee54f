import t from 'tap'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { type AdapterDefinition, apiVersion, StorageError } from '../../adapters/contract.ts'
import { atNight } from '../support/extent.ts'
import { toolCall } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { startMcpWorld } from './clients.ts'

t.test('names match in upper and lower case and in any Unicode form', async t => {
  const { app, token, providerId, tool } = await startMcpWorld(t)
  for (const path of ['/Reports/Über.txt', '/Reports/u\u0308ber 2.TXT', '/other/unter.txt', '/a/b/c/ÜBER'])
    await app.upload(token, providerId, path, 'x')
  const find = async (path: string, name: string, first = 50) =>
    (await tool('search', { providerId, path, name, first })).output
  const found = await find('/', 'über')
  t.same(found.entries.map(({ path }: { path: string }) => path).toSorted(), [
    '/Reports/u\u0308ber 2.TXT',
    '/Reports/Über.txt',
    '/a/b/c/ÜBER',
  ])
  t.match(found, { walked: 9, unreadable: 0, cut: null })
  t.match(await find('/Reports', 'ber', 1), { entries: { length: 1 }, cut: 'RESULTS' })
  t.match(await find('/Reports', 'ber', 2), { entries: { length: 2 }, cut: null })
  t.match(await find('/other', 'über'), { entries: [], walked: 1, cut: null })
  t.match(await find('/', 'reports'), { entries: [{ path: '/Reports', kind: 'FOLDER' }] })
  for (const [args, reason] of [
    [{ path: '/', name: '' }, 'INVALID_INPUT'],
    [{ path: '/', name: 'x', first: 101 }, 'INVALID_INPUT'],
    [{ path: '/missing', name: 'x' }, 'NOT_FOUND'],
    [{ path: '/a/b/c/ÜBER', name: 'x' }, 'NOT_A_FOLDER'],
  ] as const)
    t.match((await tool('search', { providerId, ...args })).errors, [{ extensions: { reason } }], reason)
})

interface Generated {
  adapter: AdapterDefinition
  /** Calls of `list` that have not ended. */
  open: number
}

/** Folders whose entries `names` generates. A folder named "slow" responds only when its call is aborted. */
function generated(names: (path: string) => { name: string; isFolder?: boolean }[]): Generated {
  const made: Generated = {
    open: 0,
    adapter: {
      type: 'generated',
      apiVersion,
      title: 'Generated',
      configSchema: { type: 'object', properties: {} },
      async open(_config, host) {
        const provider = await memoryAdapter.open({ maxBytes: 1 }, host)
        return Object.assign(provider, {
          async list(
            path: string,
            { signal, cursor, limit = 1000 }: { signal: AbortSignal; cursor?: string; limit?: number },
          ) {
            if (path.endsWith('refused')) throw new StorageError('PERMISSION_DENIED', 'not for you')
            if (path.endsWith('slow')) {
              made.open += 1
              await new Promise((_, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason))
              }).finally(() => {
                made.open -= 1
              })
            }
            const start = Number(cursor ?? 0)
            const all = names(path)
            const entries = all.slice(start, start + limit).map(({ name, isFolder }) => {
              const facts = { modifiedAt: null, etag: null, mimeType: null }
              return isFolder
                ? ({ name, kind: 'directory', size: null, ...facts } as const)
                : ({ name, kind: 'file', size: 1, ...facts } as const)
            })
            const end = start + entries.length
            return { entries, cursor: end < all.length ? String(end) : null }
          },
        })
      },
    },
  }
  return made
}

const usageOf = `query ($providerId: ID!, $path: String!) {
  folder(providerId: $providerId, path: $path) { usage { files folders bytes isComplete } } }`

t.test('a search stops after 20,000 entries', async t => {
  const files = Array.from({ length: 3000 }, (_, index) => ({ name: `file-${index}` }))
  const { adapter } = generated(path => [...files, { name: `folder ${path.length}`, isFolder: true }])
  const { app, token, providerId, tool } = await startMcpWorld(t, { adapters: [adapter] }, 'generated')
  const { output } = await tool('search', { providerId, path: '/', name: 'nothing like this' })
  t.match(output, { entries: [], walked: 20_000, cut: 'ENTRIES' })
  const { usage } = (await app.ask(usageOf, { providerId, path: '/' }, token)).folder
  t.equal(usage.files + usage.folders, 20_000, 'the size of a folder has the same limit')
  t.match(usage, { bytes: usage.files, isComplete: false })
})

atNight(t, 'a search stops after ten seconds and says so', async t => {
  const made = generated(path =>
    path === '' ? ['slow', 'a', 'b'].map(name => ({ name, isFolder: name === 'slow' })) : [],
  )
  const { providerId, tool } = await startMcpWorld(t, { adapters: [made.adapter] }, 'generated')
  const started = performance.now()
  const { output } = await tool('search', { providerId, path: '/', name: 'a' })
  t.match(output, { entries: [{ path: '/a' }], walked: 3, cut: 'TIME' })
  t.ok(performance.now() - started > 9_000)
  t.equal(made.open, 0, 'the call of the back end was canceled')
})

t.test('a folder that cannot be listed does not end the search', async t => {
  const folders = ['refused', 'fine'].map(name => ({ name, isFolder: true }))
  const made = generated(path => (path === '' ? folders : [{ name: 'found' }]))
  const { app, token, providerId, tool } = await startMcpWorld(t, { adapters: [made.adapter] }, 'generated')
  const { usage } = (await app.ask(usageOf, { providerId, path: '/' }, token)).folder
  t.same(usage, { files: 1, folders: 2, bytes: 1, isComplete: false })
  t.match((await tool('search', { providerId, path: '/', name: 'found' })).output, {
    entries: [{ path: '/fine/found' }],
    unreadable: 1,
    cut: null,
  })
  const top = await tool('search', { providerId, path: '/refused', name: 'found' })
  t.match(top.errors, [{ extensions: { reason: 'BACK_END_REFUSED' } }])
})

t.test('a search ends when its client disconnects or its key is revoked', async t => {
  const made = generated(path => (path === '' ? [{ name: 'slow', isFolder: true }] : []))
  const { app, token, providerId, tool, key } = await startMcpWorld(t, { adapters: [made.adapter] }, 'generated')
  const args = { providerId, path: '/', name: 'a' }
  const { path, ...init } = toolCall('search', args)
  const gone = new AbortController()
  const left = app.request(path, { ...init, token: key, signal: gone.signal })
  left.catch(() => {})
  await until(() => made.open === 1)
  gone.abort()
  await t.rejects(left)
  await until(() => made.open === 0)
  const { key: other, id } = await app.createKey(token, { name: 'other', scopes: ['read'] })
  const searching = tool('search', args, other)
  await until(() => made.open === 1)
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, token)
  t.match(await searching, { status: 401, errors: [{ extensions: { reason: 'KEY_REVOKED' } }] })
  t.equal(made.open, 0)
  await until(() => app.app.server.transfers.size === 0)
  t.notMatch(app.logged(), /"level":[56]0/)
})
