import assert from 'node:assert/strict'
import type { StorageProvider } from '../contract.ts'
import { at, type Case, call, has, namesIn, put } from './kit.ts'

/** A back end may refuse any of them as INVALID_PATH; what it takes it must keep exactly. */
export const oddNames = [
  '-rf',
  '--',
  '.hidden',
  '..hidden',
  '...',
  ' leading',
  'trailing ',
  'trailing.',
  'new\nline',
  'tab\there',
  'control\u0001\u007f',
  'quote"\'`',
  'back\\slash',
  '%2e%2e%2fup',
  'a?b*c[d]{e}',
  'C:\\NUL',
  'con',
  'a:b|c<d>',
  'café NFC'.normalize('NFC'),
  'café NFC'.normalize('NFD'),
  '\u2126 the ohm sign',
  '\u03a9 the ohm sign',
  '日本語.txt',
  'مرحبا',
  '\u202edesrever',
  '\ufeffbom',
  'zero\u200bwidth',
  '🗄️👩‍👩‍👧',
  '~$lock',
  '#anchor&query=1+2',
]

export const nameCases: Case[] = [
  {
    name: 'odd names of files are kept exactly, or refused as INVALID_PATH',
    run: provider => keepsNames(provider, oddNames, ''),
  },
  {
    name: 'odd names of folders are kept exactly, or refused as INVALID_PATH',
    async run(provider) {
      for (const name of oddNames) {
        if (await refused(put(provider, `${name}/file`, name))) continue
        await has(provider, `${name}/file`, name)
        assert.deepEqual(await namesIn(provider, name), ['file'])
      }
    },
  },
  {
    name: 'names of 255 bytes are kept, longer ones kept or refused as INVALID_PATH',
    async run(provider) {
      await put(provider, 'a'.repeat(255), 'ascii')
      await has(provider, 'a'.repeat(255), 'ascii')
      await keepsNames(provider, ['é'.repeat(127), '𝒳'.repeat(63), 'b'.repeat(256), 'c'.repeat(1000)], 'folder/')
    },
  },
  {
    name: 'names that differ only by case are two names',
    needs: provider => (provider.traits.caseSensitive ? undefined : 'a back end that tells upper from lower case'),
    run: provider => keepsNames(provider, ['Readme', 'README', 'readme'], ''),
  },
  {
    name: 'a path of 60 folders',
    async run(provider) {
      const path = Array.from({ length: 60 }, (_, depth) => `level ${depth}`).join('/')
      if (await refused(put(provider, `${path}/file`, 'deep'))) return
      await has(provider, `${path}/file`, 'deep')
      assert.equal((await provider.stat(at(`${path}/file`), call())).name, 'file')
    },
  },
]

async function keepsNames(provider: StorageProvider, names: readonly string[], prefix: string): Promise<void> {
  const kept: string[] = []
  for (const name of names) {
    if (await refused(put(provider, prefix + name, `content of ${name}`))) continue
    kept.push(name)
    assert.equal((await provider.stat(at(prefix + name), call())).name, name)
  }
  // Only now: a later name must not have gone over an earlier one.
  for (const name of kept) await has(provider, prefix + name, `content of ${name}`)
  assert.deepEqual(await namesIn(provider, prefix.replace(/\/$/, '')), kept.sort())
}

async function refused(write: Promise<unknown>): Promise<boolean> {
  try {
    await write
    return false
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'INVALID_PATH') return true
    throw error
  }
}
