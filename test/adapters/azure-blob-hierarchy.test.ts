/** Accounts with a hierarchical namespace, where folders are real. */
import t from 'tap'
import { parseConfig } from '../../adapters/backends/azure-blob/config.ts'
import { openProvider } from '../../adapters/backends/azure-blob/provider.ts'
import { conformanceCases } from '../../adapters/conformance/index.ts'
import {
  at,
  call,
  has,
  isMissing,
  listAll,
  makeFolder,
  namesIn,
  pattern,
  put,
  rejectsWith,
} from '../../adapters/conformance/kit.ts'
import { azureServer } from '../servers/azurite.ts'
import { hierarchy } from '../servers/hierarchy.ts'
import { extent } from '../support/extent.ts'
import { azureConfigFor, smallLimits } from './azure-provider.ts'
import { silentHost } from './host.ts'

const server = await azureServer(t)
const container = await server.newContainer()
const { endpoint, dfsEndpoint, operations } = await hierarchy(t, container)

async function open(prefix = `p ${Math.random()}`) {
  const config = azureConfigFor({ ...server, endpoint }, container.containerName, { prefix })
  const settings = { ...parseConfig(config), dfsEndpoint: new URL(dfsEndpoint) }
  return await openProvider(settings, silentHost, { ...smallLimits, authority: '' })
}

/** The cases about folders. The others run without a hierarchical namespace. */
const aboutFolders =
  /^move|^copy: stores|deleteTree|director|mkdir|folder|parent|a file below|NOT_A_|an unfinished write|fileId: (?!is the same)/
const cases = conformanceCases({ open, manyEntries: 100 }).filter(
  ({ name }) => aboutFolders.test(name) && !/^(common|trash|setModifiedAt)/.test(name),
)
for (const { name, run } of extent({ gate: cases.filter((_, index) => index % 6 === 0), nightly: cases })) {
  t.test(name, async t => {
    const { skipped } = await run()
    t.ok(skipped === undefined || skipped === 'openFolder in the harness', skipped ?? name)
  })
}

t.test('folders are made, moved and deleted in one step, and parents stay', async t => {
  const provider = await open()
  operations.length = 0
  const bytes = pattern(2.5 * 1024 * 1024)
  await put(provider, 'a/b/large', bytes)
  await Promise.all(Array.from({ length: 8 }, (_, i) => put(provider, `a/b/${i}`, 'x')))
  await provider.move?.(at('a/b'), at('moved here'), { ...call(), overwrite: false })
  await has(provider, 'moved here/large', bytes)
  t.same(await namesIn(provider, 'a'), [], 'the parent stays without a marker of its own')
  t.same(operations, ['rename'])
  await provider.deleteTree(at('moved here'), call())
  await isMissing(provider, 'moved here')
  t.ok(operations.filter(operation => operation === 'DELETE').length > 2, 'a large folder takes several requests')
  await makeFolder(provider, 'x/y', true)
  await rejectsWith('ALREADY_EXISTS', makeFolder(provider, 'x/y', true))
  await makeFolder(provider, 'x/y')
  await rejectsWith('NOT_EMPTY', provider.delete(at('x'), call()))
  await provider.delete(at('x/y'), call())
  t.same(await namesIn(provider, ''), ['a', 'x'])
  await Promise.all(['x/b', 'x/b/c', 'x/b-', 'x/b!'].map(path => makeFolder(provider, path)))
  for (const limit of [1, 2, 3])
    t.same((await listAll(provider, 'x', limit)).map(({ name }) => name).sort(), ['b', 'b!', 'b-'])
  await rejectsWith('INVALID_PATH', put(provider, `${'d/'.repeat(70)}file`, 'x'))
})
