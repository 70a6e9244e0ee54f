import assert from 'node:assert/strict'
import type { Entry, StorageProvider } from '../contract.ts'
import { assertWritten, at, bodyOf, type Case, call, has, Lacking, listAll } from './kit.ts'
import { inOneStep } from './optional.ts'

/** Milliseconds: the coarsest time that `traits.keepsModifiedAt` allows. */
const resolution = 2_000
/** Milliseconds by which the clock of a back end may differ. */
const clockTolerance = 60 * 60_000

const past = new Date('2001-02-03T04:05:06.789Z')
const future = new Date(Date.now() + 30 * 24 * 60 * 60_000)

const keeps: NonNullable<Case['needs']> = ({ traits }) =>
  traits.keepsModifiedAt ? undefined : 'the trait keepsModifiedAt'

function write(provider: StorageProvider, path: string, modifiedAt?: Date, overwrite = false): Promise<Entry> {
  const options = { ...call(), overwrite, ...(modifiedAt && { modifiedAt }) }
  return provider.write(at(path), bodyOf(`content of ${path}`), options)
}

function isAt({ modifiedAt }: Entry, time: Date, what: string): void {
  const isNear = Math.abs(Number(modifiedAt) - time.getTime()) < resolution
  assert.ok(isNear, `${what}: modifiedAt is ${modifiedAt?.toISOString()} instead of ${time.toISOString()}`)
}

export const modifiedAtCases: Case[] = [
  {
    name: 'modifiedAt: a write that is given a time stores the file',
    async run(provider) {
      const start = Date.now()
      const written = await write(provider, 'folder/file', past)
      await has(provider, 'folder/file', 'content of folder/file')
      const seen = await provider.stat(at('folder/file'), call())
      assertWritten(written, seen)
      if (provider.traits.keepsModifiedAt || seen.modifiedAt === null) return
      const isNow = Math.abs(seen.modifiedAt.getTime() - start) < clockTolerance
      assert.ok(isNow, `modifiedAt is ${seen.modifiedAt.toISOString()}: set traits.keepsModifiedAt`)
    },
  },
  {
    name: 'modifiedAt: every entry has the time that the write was given',
    needs: keeps,
    async run(provider) {
      for (const [path, time] of [
        ['folder/past', past],
        ['folder/future', future],
      ] as const) {
        isAt(await write(provider, path, time), time, `write of ${path}`)
        const seen = await provider.stat(at(path), call())
        isAt(seen, time, `stat of ${path}`)
        const { body, entry } = await provider.read(at(path), call())
        body.destroy()
        isAt(entry, time, `read of ${path}`)
        const listed = (await listAll(provider, 'folder')).find(({ name }) => path.endsWith(name))
        assert.deepEqual(listed?.modifiedAt, seen.modifiedAt, 'a listing and stat return different times')
      }
    },
  },
  {
    name: 'modifiedAt: a write over a file sets its time, and its etag changes',
    needs: keeps,
    async run(provider) {
      const first = await write(provider, 'file', past)
      const second = await provider.write(at('file'), bodyOf('Content of file'), {
        ...call(),
        overwrite: true,
        modifiedAt: past,
      })
      isAt(second, past, 'the second write')
      if (first.etag !== null) assert.notEqual(second.etag, first.etag, 'other bytes have the same etag')
      isAt(await write(provider, 'file', undefined, true), new Date(), 'a write without a time')
    },
  },
  {
    name: 'modifiedAt: a resumable upload has the time that it began with',
    needs: (provider, harness) => keeps(provider, harness) ?? (provider.resumable ? undefined : 'resumable writes'),
    async run(provider) {
      const { resumable } = provider
      if (!resumable) return
      for (const bytes of ['', 'content']) {
        const path = `folder/${bytes.length}`
        const state = await resumable.begin(at(path), { ...call(), size: bytes.length, modifiedAt: past })
        const end = { ...call(), offset: 0, size: bytes.length, overwrite: false }
        isAt(await resumable.complete(state, bodyOf(bytes), end), past, 'the completed upload')
        isAt(await provider.stat(at(path), call()), past, 'stat of the completed upload')
      }
    },
  },
  {
    name: 'modifiedAt: a copy has the time of its source',
    needs: (provider, harness) => keeps(provider, harness) ?? (provider.copy ? undefined : 'the method copy'),
    async run(provider) {
      await write(provider, 'file', past)
      const copied = await inOneStep(provider.copy?.(at('file'), at('a/copy'), { ...call(), overwrite: false }))
      if (!copied) throw new Lacking('this operation in one step (NOT_IN_ONE_STEP)')
      isAt(copied, past, 'the copy')
      isAt(await provider.stat(at('a/copy'), call()), past, 'stat of the copy')
    },
  },
]
