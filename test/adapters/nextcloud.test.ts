/** The adapter for WebDAV on a Nextcloud, and on its variants where they differ. */
import t from 'tap'
import { conformanceCases } from '../../adapters/conformance/index.ts'
import { type Kind, startNextcloud } from '../servers/nextcloud/index.ts'
import { runConformance } from './conformance.ts'
import { harnessOf } from './nextcloud-world.ts'

t.setTimeout(300_000)

runConformance(null, harnessOf(await startNextcloud(t)), [
  'hasCreateRaces in the harness',
  'parts of resumable writes',
  ...['copySmall', 'openFile', 'readSmall', 'presign'].map(name => `the method ${name}`),
])

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
    const skips = new Set<string>()
    for (const { name, run } of cases) {
      await t.test(name, async t => {
        const { skipped } = await run()
        if (skipped !== undefined) skips.add(skipped)
        t.pass(name)
      })
    }
    t.same([...skips].sort(), lacks)
  })
}
