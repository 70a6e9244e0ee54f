import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { conformanceCases, testHost } from 'stowage/adapter/conformance'
import adapter from './index.js'

const folder = await mkdtemp(join(tmpdir(), 'stowage-adapter-sqlite-'))
process.env.SQLITE_FOLDER = folder
after(() => rm(folder, { recursive: true }))

let databases = 0
const harness = { open: () => adapter.open({ name: `test-${++databases}` }, testHost()) }

for (const { name, run } of conformanceCases(harness)) {
  test(name, async t => {
    const { skipped } = await run()
    if (skipped) t.skip(`needs ${skipped}`)
  })
}
