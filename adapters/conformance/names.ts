import assert from 'node:assert/strict'
import type { StorageProvider } from '../contract.ts'
import type { Harness } from './harness.ts'
import { about, at, type Case, call, has, namesIn, put } from './kit.ts'

/** Names that people use. A harness lists those that its back end cannot store in `refuses`. */
export const commonNames = [
  'with spaces in it.txt',
  ' leading',
  'trailing ',
  'trailing.',
  '.hidden',
  '..hidden',
  '-rf',
  '--',
  'quote"\'`',
  'what?.txt',
  '100%',
  '100%25',
  'a+b',
  'one & two',
  '#anchor&query=1+2',
  'semi;colon, comma=equals@at!',
  '(brackets) [square] {curly}',
  'café NFC'.normalize('NFC'),
  'café NFC'.normalize('NFD'),
  '日本語.txt',
  'مرحبا',
  '🗄️👩‍👩‍👧',
  '~$lock',
  'a'.repeat(255),
  // 255 bytes in 128 characters.
  `${'é'.repeat(127)}x`,
]

/** A back end may refuse any of these as INVALID_PATH, but must store exactly those that it accepts. */
export const oddNames = [
  '...',
  'new\nline',
  'tab\there',
  'control\u0001\u007f',
  'back\\slash',
  '%2e%2e%2fup',
  'a?b*c[d]{e}',
  'C:\\NUL',
  'con',
  'a:b|c<d>',
  '\u2126 the ohm sign',
  '\u03a9 the ohm sign',
  '\u202edesrever',
  '\ufeffbom',
  'zero\u200bwidth',
  '__proto__',
]

export const nameCases: Case[] = [
  {
    name: 'common file names are stored exactly, except those that the harness refuses',
    async run(provider, harness) {
      await refusesAsStated(provider, harness, name => name)
      await keepsNames(provider, storable(harness), '')
    },
  },
  {
    name: 'common folder names are stored exactly, except those that the harness refuses',
    async run(provider, harness) {
      await refusesAsStated(provider, harness, name => `${name}/file`)
      await keepsFolders(provider, storable(harness))
    },
  },
  {
    name: 'odd file names are stored exactly or refused with INVALID_PATH',
    run: (provider, harness) => keepsNames(provider, oddNamesFor(provider, harness), ''),
  },
  {
    name: 'odd folder names are stored exactly or refused with INVALID_PATH',
    run: (provider, harness) => keepsFolders(provider, oddNamesFor(provider, harness)),
  },
  {
    name: 'names longer than 255 bytes are stored exactly or refused with INVALID_PATH',
    run: provider => keepsNames(provider, ['short', 'b'.repeat(256), '𝒳'.repeat(64), 'c'.repeat(1000)], 'folder/'),
  },
  {
    name: 'names that differ only in case are different names',
    needs: (_provider, { foldsCase }) => (foldsCase ? 'case-sensitive names' : undefined),
    run: provider => keepsNames(provider, ['Readme', 'README', 'readme'], ''),
  },
  {
    name: 'a path of 60 folders is stored or refused with INVALID_PATH',
    async run(provider) {
      const path = Array.from({ length: 60 }, (_, depth) => `level ${depth}`).join('/')
      if (await refused(put(provider, `${path}/file`, 'deep'))) return
      await has(provider, `${path}/file`, 'deep')
      assert.equal((await provider.stat(at(`${path}/file`), call())).name, 'file')
    },
  },
]

/** The host refuses names with line breaks where an adapter says so. Without case, some names are the same. */
function oddNamesFor({ traits }: StorageProvider, { foldsCase }: Harness): string[] {
  const names = foldsCase ? [...new Map(oddNames.map(name => [name.toLowerCase(), name])).values()] : oddNames
  return names.filter(name => !traits.singleLineNames || !/[\r\n]/.test(name))
}

function storable({ refuses }: Harness): string[] {
  return commonNames.filter(name => !refuses?.(name))
}

async function refusesAsStated(
  provider: StorageProvider,
  { refuses }: Harness,
  pathOf: (name: string) => string,
): Promise<void> {
  for (const name of commonNames) {
    const expected = refuses?.(name) ?? false
    const actual = await about(name, () => refused(put(provider, pathOf(name), name)))
    const found = actual ? 'refused' : 'stored'
    const hint = 'it must be refused exactly if `refuses` of the harness says so'
    assert.equal(actual, expected, `${JSON.stringify(name)} is ${found}: ${hint}`)
    if (actual) continue
    await about(name, async () => {
      await provider.delete(at(pathOf(name)), call())
      if (pathOf(name) !== name) await provider.delete(at(name), call())
    })
  }
}

async function keepsFolders(provider: StorageProvider, names: readonly string[]): Promise<void> {
  const kept: string[] = []
  for (const name of names) {
    const isRefused = await about(name, () => refused(put(provider, `${name}/file`, name)))
    if (!isRefused) kept.push(name)
  }
  for (const name of kept) {
    await about(name, async () => {
      await has(provider, `${name}/file`, name)
      assert.deepEqual(await namesIn(provider, name), ['file'])
    })
  }
  assert.deepEqual(await namesIn(provider, ''), kept.sort())
}

async function keepsNames(provider: StorageProvider, names: readonly string[], prefix: string): Promise<void> {
  const kept: string[] = []
  for (const name of names) {
    await about(name, async () => {
      if (await refused(put(provider, prefix + name, `content of ${name}`))) return
      kept.push(name)
      assert.equal((await provider.stat(at(prefix + name), call())).name, name)
    })
  }
  // Check after the last write: a later name must not have replaced an earlier one.
  for (const name of kept) await about(name, () => has(provider, prefix + name, `content of ${name}`))
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
