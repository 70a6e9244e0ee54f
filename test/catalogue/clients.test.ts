/** The search of the client, the command line and the MCP server. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Stowage } from '../../packages/client/src/index.ts'
import { signedIn } from '../cli/command-line.ts'
import { atNight } from '../support/extent.ts'
import { toolCall, toolOutcome } from '../support/mcp.ts'
import { until } from '../support/until.ts'

const { app, token, key, disk, diskFolder, json, output, run } = await signedIn(t, { settings: { catalogueHours: 24 } })
await mkdir(join(diskFolder, 'Reports/Old'), { recursive: true })
for (const name of ['Reports/annual report.txt', 'Reports/Old/report 1.txt', 'notes.txt']) {
  await writeFile(join(diskFolder, name), 'x')
}
const { key: narrow } = await app.createKey(token, {
  name: 'narrow',
  scopes: ['read'],
  providerAccess: { restrictions: [{ providerId: disk, basePath: '/Reports/Old' }] },
})
const stowage = new Stowage({ url: app.url, credential: token })
const paths = async (options: Parameters<Stowage['search']>[0], as = stowage) => {
  const found: string[] = []
  for await (const { path } of as.search(options)) found.push(path)
  return found
}
await app.db
  .updateTable('catalogues')
  .set({ next_round_at: new Date(0) })
  .execute()
await until(async () => (await paths({ text: 'report' })).length === 3 || (await paths({ text: 'report' })))

t.test('the client yields what it finds, and says what was covered', async t => {
  const all = ['/Reports', '/Reports/Old/report 1.txt', '/Reports/annual report.txt']
  t.same((await paths({ text: 'report' })).toSorted(), all)
  t.same(await paths({ text: 'report', kinds: ['folder'] }), ['/Reports'])
  const within = [{ providerId: disk, path: '/Reports/Old' }]
  t.same(await paths({ text: 'report', within }), ['/Reports/Old/report 1.txt'])
  const ofKey = new Stowage({ url: app.url, credential: narrow })
  t.same(await paths({ text: 'report' }, ofKey), ['/Reports/Old/report 1.txt'])
  await t.rejects(paths({ text: 'x', within: [{ providerId: disk, path: '/' }] }, ofKey), {
    name: 'StowageError',
    reason: 'OUTSIDE_BASE_PATH',
  })
  let covered: unknown
  await paths({ text: 'x', onCoverage: coverage => (covered = coverage) })
  t.match(covered, [{ provider: { id: disk, name: 'Disk' }, isComplete: true, indexedAt: Date }])
})

atNight(t, '`stowage search` prints what it finds', async t => {
  t.match(await json('search', 'annual', 'Disk:/Reports'), {
    status: 0,
    lines: [{ kind: 'file', storage: 'Disk', path: '/Reports/annual report.txt', size: 1, snippet: null }],
  })
  t.match(await run(['search', '--limit', '0', 'x']), { stderr: /--limit is a number from 1/ })
})

atNight(t, '`stowage search` has filters', async t => {
  t.equal(await output('search', '--kind', 'folder', 'report'), 'Disk:/Reports/\n')
  t.equal((await output('search', '--names', '-n', '2', 'report')).trim().split('\n').length, 2)
  t.equal(await output('search', '--type', 'document', 'annual'), 'Disk:/Reports/annual report.txt\n')
  t.equal(await output('search', '--min-size', '2KB', 'annual'), '')
  t.equal(await output('search', '--max-size', '1', '--after', '1d', 'annual'), 'Disk:/Reports/annual report.txt\n')
  t.equal(await output('search', '--before', '1h', 'annual'), '')
  t.equal(await output('search', 'nothing like this'), '')
})

t.test('the MCP tool finds in all storages', async t => {
  const find = async (args: object, as: string) => {
    const { path, ...call } = toolCall('find', args)
    const response = await app.request(path, { ...call, token: as })
    return toolOutcome(response.status, await response.text()).output
  }
  t.match(await find({ text: 'annual report' }, key), {
    entries: [{ providerId: disk, path: '/Reports/annual report.txt', kind: 'FILE', snippet: null }],
    hasMore: false,
    incomplete: [],
  })
  t.match(await find({ text: 'report', first: 1 }, key), { entries: { length: 1 }, hasMore: true })
  t.match(await find({ text: 'report' }, narrow), { entries: [{ path: '/Reports/Old/report 1.txt' }], hasMore: false })
})
