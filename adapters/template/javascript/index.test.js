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
const names = new Map()
/** @param {string} name */
const open = async name => {
  const provider = await adapter.open({ name }, testHost())
  names.set(provider, name)
  return provider
}
/** @type {import('stowage/adapter/conformance').Harness} */
const harness = {
  open: () => open(`test-${++databases}`),
  reopen: provider => open(names.get(provider)),
  // Each write waits for the disk.
  manyEntries: 1000,
}

for (const { name, run } of conformanceCases(harness)) {
  test(name, async t => {
    const { skipped } = await run()
    if (skipped) t.skip(`needs ${skipped}`)
  })
}
