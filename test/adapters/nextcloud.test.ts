/** The adapter for WebDAV on a Nextcloud, and on its variants where they differ. */
import t from 'tap'
import { conformanceCases } from '../../adapters/conformance/index.ts'
import { at, call, namesIn, put } from '../../adapters/conformance/kit.ts'
import { type Kind, startNextcloud } from '../servers/nextcloud/index.ts'
import { casesOfServer, runConformance } from './conformance.ts'
import { harnessOf, openFolder } from './nextcloud-world.ts'

t.setTimeout(300_000)

/** The folders of unfinished writes: at this server, and at others. */
const reserved = ['.stowage-unfinished', '.STOWAGE-UNFINISHED', '.stowage-staging']

const lacksOfNextcloud = [
  'hasCreateRaces in the harness',
  'parts of resumable writes',
  'the trait keepsReplaced',
  ...['copySmall', 'openFile', 'readSmall', 'setModifiedAt', 'presign', 'changes'].map(name => `the method ${name}`),
]
runConformance(t, null, harnessOf(await startNextcloud(t)), lacksOfNextcloud, 2)

t.test('unfinished writes are hidden and refused at every level, as another provider may be below', async t => {
  const fake = await startNextcloud(t)
  for (const name of reserved) fake.files.tree.addFile(`Team/${name}/part`, 'half')
  const providers = { '': await openFolder(fake, ''), Team: await openFolder(fake, 'Team') }
  for (const provider of Object.values(providers)) await put(provider, 'file', 'content')
  t.same(await namesIn(providers.Team, ''), ['file'])
  t.same(await namesIn(providers[''], 'Team'), ['file'])
  for (const provider of Object.values(providers)) {
    for (const path of reserved.flatMap(name => [name, `${name}/part`, `Team/${name}`, `Team/${name}/part`])) {
      const attempts: Record<string, () => Promise<unknown>> = {
        stat: () => provider.stat(at(path), call()),
        list: () => provider.list(at(path), { ...call(), limit: 10 }),
        read: () => provider.read(at(path), call()),
        write: () => put(provider, path, 'x', true),
        mkdir: () => provider.mkdir(at(path), { ...call(), exclusive: false }),
        delete: () => provider.delete(at(path), call()),
        'delete a tree': async () => provider.deleteTree?.(at(path), call()),
        'copy from': async () => provider.copy?.(at(path), at('copy'), { ...call(), overwrite: false }),
        'move from': async () => provider.move?.(at(path), at('moved'), { ...call(), overwrite: false }),
        'move to': async () => provider.move?.(at('file'), at(path), { ...call(), overwrite: true }),
      }
      for (const [name, attempt] of Object.entries(attempts)) {
        await t.rejects(attempt(), { code: 'INVALID_PATH' }, `${name} ${path}`)
      }
    }
    await provider.close?.()
  }
  for (const name of reserved) t.ok(fake.files.tree.find(`Team/${name}/part`), 'nothing was deleted')
})

/** Cases that store files. */
const storing =
  /^(?:round trip|a large file|sizes|ranges|overwrite|exactly one of 40|all of 20|a body|a write|a small body|an unfinished|modifiedAt|copy|move|resumable)\b/

const variants: { name: string; kind: Kind; lacks: readonly string[] }[] = [
  { name: 'a Nextcloud whose files are in S3', kind: { vendor: 'Nextcloud', hasObjectStore: true }, lacks: [] },
  { name: 'an ownCloud', kind: { vendor: 'ownCloud' }, lacks: [] },
  {
    name: 'an ownCloud without uploads in chunks',
    kind: { vendor: 'ownCloud', hasUploads: false },
    lacks: ['partSize in the harness', 'resumable writes'],
  },
]

for (const { name, kind, lacks } of variants) {
  t.test(name, async t => {
    const cases = conformanceCases(harnessOf(await startNextcloud(t, kind))).filter(({ name }) => storing.test(name))
    const chosen = casesOfServer(cases)
    const skips = new Set<string>()
    for (const { name, run } of chosen) {
      await t.test(name, async t => {
        const { skipped } = await run()
        if (skipped !== undefined) skips.add(skipped)
        t.pass(name)
      })
    }
    t.same(
      [...skips].filter(skip => !lacks.includes(skip)),
      [],
    )
    if (chosen.length === cases.length) t.same([...skips].sort(), lacks)
  })
}
