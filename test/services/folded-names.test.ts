/** Copies to a back end whose names are case-insensitive. */
import t from 'tap'
import { builtInAdapters } from '../../adapters/index.ts'
import { startApp } from '../support/app.ts'
import { foldingAdapter } from '../support/folding-adapter.ts'
import { providerClient } from './transfers.ts'

t.test('a case-insensitive target', async t => {
  const adapter = foldingAdapter()
  const app = await startApp(t, {
    adapters: folder => [...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }), adapter],
  })
  const { token } = await app.register('owner@example.org')
  const connect = async (type: string) => providerClient(app, token, await app.connectProvider(token, type, {}))
  const [source, folding] = [await connect('memory'), await connect('folding')]
  const mutation = (name: 'copy' | 'move') =>
    `mutation ($input: ${name === 'copy' ? 'CopyInput' : 'MoveInput'}!) { ${name}(input: $input) { path } }`

  await t.test('RENAME looks for another name only if the name itself is taken, not that of a child', async t => {
    for (const [index, [upper, lower]] of [
      ['A.txt', 'a.txt'],
      ['Sub/x', 'sub/y'],
      ['same', 'SAME/file'],
    ].entries()) {
      const path = `/both-${index}`
      await source.put(`${path}/${upper}`, 'upper')
      await source.put(`${path}/${lower}`, 'lower')
      for (const operation of ['copy', 'move'] as const) {
        for (const conflict of ['FAIL', 'RENAME', 'REPLACE']) {
          adapter.mkdirs.length = 0
          const input = {
            providerId: source.providerId,
            path,
            toProviderId: folding.providerId,
            toPath: '/target',
            conflict,
          }
          const { errors } = await app.graphql(mutation(operation), { input }, token)
          t.equal(errors[0]?.extensions.reason, 'ALREADY_EXISTS')
          t.match(errors[0]?.message, /^"\/target\/(a\.txt|sub|same)"/i, 'the error names the child')
          t.equal(adapter.mkdirs.filter(path => !path.includes('/')).length, 1, 'one attempt')
          t.same(await folding.names('/'), [], 'the failed copy leaves nothing')
          t.equal(await source.get(`${path}/${upper}`), 'upper')
          t.equal(await source.get(`${path}/${lower}`), 'lower')
        }
      }
    }
  })

  await t.test('a folder cannot be moved into itself under another spelling', async t => {
    await folding.put('/a/file', 'kept')
    for (const operation of ['copy', 'move'] as const) {
      for (const conflict of ['FAIL', 'RENAME', 'REPLACE']) {
        t.equal(await folding.run(operation, { path: '/A', toPath: '/a/sub', conflict }), 'INTO_ITSELF')
        t.equal(await folding.run(operation, { path: '/a', toPath: '/A/sub/deeper', conflict }), 'INTO_ITSELF')
      }
    }
    t.same(await folding.names('/a'), ['file'])
    t.match(await folding.run('move', { path: '/a/file', toPath: '/A/FILE', conflict: 'REPLACE' }), { path: '/A/FILE' })
    t.match(await folding.run('move', { path: '/a', toPath: '/A', conflict: 'REPLACE' }), { path: '/A' })
    t.equal(await folding.run('copy', { path: '/a/file', toPath: '/A/FILE', conflict: 'REPLACE' }), 'ALREADY_EXISTS')
    t.equal(await folding.get('/a/file'), 'kept')
  })
})
