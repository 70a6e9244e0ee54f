import type { Test } from 'tap'
import { conformanceCases, type Harness, type Undo } from '../../adapters/conformance/index.ts'
import { extent } from '../support/extent.ts'
import { documentedRow, documentRow, rowOf, withoutCases } from './back-ends-table.ts'

type Case = ReturnType<typeof conformanceCases>[number]

/** Most back ends have none, so no list has to name it. */
const rare = new Set<string | undefined>(['a trash of its own', 'versions of its own'])

/** Cases of every back end that move many bytes or entries, and the back ends that run them in `npm test`. */
const bulk: readonly [RegExp, readonly string[]][] = [
  [/^a large file /, ['local']],
  [/^a slow reader of 48 MiB /, ['local', 'webdav']],
  [/^a walk of 2,000 entries /, ['local', 'sftp']],
  [/^a folder of many entries /, ['local', 'memory']],
  [/^sizes around the part size /, ['google-drive', 'memory']],
]

/**
 * Back ends that share the cases in `npm test`: each of them runs an eighth, so that these back ends run each case once. The
 * local disk, the memory and the adapter of the tests of the kit run all.
 */
const sharingCases = ['s3', 'azure-blob', 'google-drive', 'sftp', 'webdav', 'dropbox', 'onedrive', 'ftp']
const parts = sharingCases.length

/** Returns whether a back end runs a case of many bytes or entries; undefined for other cases. */
function runsBulk(name: string, type: string | null): boolean | undefined {
  const found = bulk.find(([pattern]) => pattern.test(name))
  return found && extent({ gate: type !== null && found[1].includes(type), nightly: true })
}

/** The needs of cases that a harness without faults cannot run. */
export const faults = ['expireCredentials', 'rateLimit', 'unavailable'].map(name => `faults.${name} in the harness`)

/**
 * @param lacks everything that the adapter lacks: each skipped case must name one of these
 * @param type the type whose row in docs/back-ends.md must match; null for adapters that only tests use
 * @param part the index of the eighth of the cases that `npm test` runs; -1 for all cases
 */
export function runConformance(
  t: Test,
  type: string | null,
  harness: Harness,
  lacks: readonly string[] = [],
  part = sharingCases.indexOf(type ?? ''),
): void {
  const skips = new Set<string>()
  const cases = { passed: 0, total: 0 }
  const isUpdate = process.argv.includes('--update')
  const isSampled = extent({ gate: part >= 0 && !isUpdate, nightly: false })
  for (const [index, { name, run }] of conformanceCases(harness).entries()) {
    const isBulk = runsBulk(name, type)
    if (isSampled && isBulk !== true && index % parts !== part % parts) continue
    cases.total += 1
    if (isBulk === false) {
      // Nobody lacks anything for these cases, so they count as passed until the night.
      cases.passed += 1
      continue
    }
    t.test(name, async t => {
      const { skipped } = await run()
      if (rare.has(skipped)) {
        cases.total -= 1
        return
      }
      if (skipped === undefined) cases.passed += 1
      else t.ok(lacks.includes(skipped), `skipped, as it needs ${skipped}`)
      if (skipped !== undefined) skips.add(skipped)
    })
  }
  if (!isSampled) {
    t.test('the skipped cases name exactly what the adapter lacks', async t => {
      t.same([...skips].sort(), [...lacks].sort())
    })
  }
  if (type === null) return
  t.test('the documentation says what the back end does itself', async t => {
    const provider = await harness.open()
    t.teardown(async () => {
      await provider.close?.()
      await harness.cleanUp?.(provider)
    })
    const row = rowOf(type, provider, cases)
    if (isUpdate) await documentRow(type, row)
    const documented = await documentedRow(type)
    const [is, shouldBe] = isSampled ? [withoutCases(documented), withoutCases(row)] : [documented, row]
    t.equal(is, shouldBe, `run "node test/adapters/${type}.test.ts --update"`)
  })
}

/** Runs the cases of a back end that is down. */
export async function runFaultCases(t: Test, { open }: Harness, unavailable: () => Promise<Undo>): Promise<void> {
  const cases = conformanceCases({ open, faults: { unavailable } })
  for (const name of ['faults: a back end that is down', 'faults: an abort ends the wait']) {
    const found = cases.find(each => each.name.startsWith(name))
    t.strictSame(await found?.run(), {}, name)
  }
}

/** Numbers the further servers of a process. */
let servers = 0
const shares = 15

/** Returns the cases that one more server runs. In `npm test`, each server runs another fifteenth of them. */
export function casesOfServer(cases: Case[]): Case[] {
  const turn = servers++ % shares
  return extent({ gate: cases.filter((_, index) => index % shares === turn), nightly: cases })
}

/**
 * Runs the cases that `tried` names, of which `npm test` runs a fifteenth.
 * @param fails cases that the server fails, which the README of the adapter lists
 */
export async function runChosenCases(t: Test, harness: Harness, tried: RegExp, fails = /^$/): Promise<void> {
  const chosen = conformanceCases(harness).filter(({ name }) => tried.test(name) && !fails.test(name))
  for (const { name, run } of casesOfServer(chosen)) {
    await t.test(name, async t => {
      await run()
      t.pass(name)
    })
  }
}

/**
 * Runs the cases about versions of the back end, of which `runConformance` runs only some by day.
 * @param part the index of the third of them that `npm test` runs
 */
export function runVersionCases(t: Test, harness: Harness, part: number): void {
  const cases = conformanceCases(harness).filter(({ name }) => name.startsWith('versions:'))
  for (const { name, run } of extent({ gate: cases.filter((_, index) => index % 3 === part), nightly: cases })) {
    t.test(name, async t => t.notMatch((await run()).skipped ?? '', 'of its own', 'the back end has versions'))
  }
}
