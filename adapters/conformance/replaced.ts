/** Cases about files that a call replaces, for back ends that keep the old file in the same step. */
import assert from 'node:assert/strict'
import type { Entry, KeepReplaced, StorageProvider } from '../contract.ts'
import { at, bodyOf, type Case, call, has, isMissing, put, rejectsWith } from './kit.ts'

const needs: NonNullable<Case['needs']> = ({ traits }) => (traits.keepsReplaced ? undefined : 'the trait keepsReplaced')

/** Gives the file that a call replaces the path `to`, and collects the entries there. */
function keeper(to: string): { kept: (Entry | null)[]; keep: KeepReplaced } {
  const kept: (Entry | null)[] = []
  return { kept, keep: async preserve => void kept.push(await preserve(at(to))) }
}

type Replace = (provider: StorageProvider, path: string, keep: KeepReplaced) => Promise<unknown>

const ways: Record<string, Replace> = {
  write: (provider, path, keep) => provider.write(at(path), bodyOf('new'), { ...call(), overwrite: true, keep }),
  copy: (provider, path, keep) =>
    provider.copy?.(at('source'), at(path), { ...call(), overwrite: true, keep }) ?? Promise.resolve(),
  move: (provider, path, keep) =>
    provider.move?.(at('source'), at(path), { ...call(), overwrite: true, keep }) ?? Promise.resolve(),
  async complete(provider, path, keep) {
    const { resumable } = provider
    const state = await resumable?.begin(at(path), { ...call(), size: 3 })
    const options = { ...call(), offset: 0, size: 3, overwrite: true, keep }
    if (state !== undefined) await resumable?.complete(state, bodyOf('new'), options)
  },
}

export const replacedCases: Case[] = Object.entries(ways).map(
  ([way, replace]): Case => ({
    name: `keep: ${way} keeps the file that it replaces, and calls keep for no other`,
    needs,
    async run(provider) {
      await put(provider, 'source', 'new', true)
      const fresh = keeper('kept/fresh')
      await replace(provider, 'fresh', fresh.keep)
      assert.deepEqual(fresh.kept, [], 'keep was called for a new file')
      await put(provider, 'source', 'new', true)
      await put(provider, 'old', 'the old content')
      const replaced = keeper('kept/old')
      await replace(provider, 'old', replaced.keep)
      const [kept] = replaced.kept
      // Losing its first name can change the etag.
      assert.deepEqual(kept, { ...(await provider.stat(at('kept/old'), call())), etag: kept?.etag })
      assert.equal(replaced.kept.length, 1)
      await has(provider, 'kept/old', 'the old content')
      await has(provider, 'old', 'new')

      await put(provider, 'source', 'new', true)
      const refusal = new Error('Refused')
      const refused = replace(provider, 'old', () => Promise.reject(refusal))
      await assert.rejects(refused, error => error === refusal)
      await has(provider, 'old', 'new')
      await put(provider, 'folder/file', 'content')
      await rejectsWith('NOT_A_FILE', replace(provider, 'folder', keeper('kept/folder').keep))
      await isMissing(provider, 'kept/folder')
    },
  }),
)
