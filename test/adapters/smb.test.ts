/** The conformance kit proves that a back end with the names of Windows is confined by the traits, and says which are missing. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { conformanceCases, type Harness, testHost } from '../../adapters/conformance/index.ts'
import { type StorageProvider, windowsNames } from '../../adapters/contract.ts'
import { extent } from '../support/extent.ts'
import { smbAdapter } from '../support/smb-adapter.ts'
import { runChosenCases } from './conformance.ts'

t.setTimeout(300_000)
const shares = new Map<StorageProvider, string>()

function harnessWith(traits?: Parameters<typeof smbAdapter>[0]): Harness {
  const openOn = async (share: string) => {
    const provider = await smbAdapter(traits).open({ share, folder: 'shared' }, testHost())
    shares.set(provider, share)
    return provider
  }
  return {
    async open() {
      const share = await mkdtemp(join(tmpdir(), 'stowage-smb-'))
      await mkdir(join(share, 'shared'))
      return await openOn(share)
    },
    reopen: provider => openOn(shares.get(provider) ?? ''),
    cleanUp: provider => rm(shares.get(provider) ?? '', { recursive: true }),
    manyEntries: extent({ gate: 100, nightly: 300 }),
  }
}

t.test('a missing trait fails a case, whose error says what to set', async t => {
  const { forbiddenInNames, forbiddenAtEndOfNames, reservedNames } = windowsNames
  const without = [
    [
      /^names: a backslash/,
      { ...windowsNames, forbiddenInNames: ':' },
      /finds an entry\. .*a backslash in traits\.forbiddenInNames/,
    ],
    [/^names: a colon/, { ...windowsNames, forbiddenInNames: '\\' }, /a colon in traits\.forbiddenInNames/],
    [/^names: a dot or a space/, { forbiddenInNames, reservedNames }, /traits\.forbiddenAtEndOfNames/],
    [/^names: names of devices/, { forbiddenInNames, forbiddenAtEndOfNames }, /traits\.reservedNames/],
  ] as const
  for (const [name, traits, message] of without) {
    const found = (harness: Harness) => conformanceCases(harness).find(each => name.test(each.name))
    await t.rejects(Promise.resolve(found(harnessWith(traits))?.run()), { message }, String(name))
    t.same(await found(harnessWith())?.run(), {}, String(name))
  }
})

t.test('with the traits, the adapter passes', t => runChosenCases(t, harnessWith(), /./))
