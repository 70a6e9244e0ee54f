import assert from 'node:assert/strict'
import type { StorageProvider } from '../contract.ts'
import { nameRules } from '../name-rules.ts'
import type { Harness } from './harness.ts'
import { about, at, type Case, call, get, has, listAll, namesIn, put } from './kit.ts'

/** Names that people use. The traits or `refuses` of the harness state those that the back end cannot store. */
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

/** Names that some back ends take for another path. */
interface Misread {
  about: string
  /** The traits that an adapter of such a back end needs. */
  traits: string
  /** Paths in a folder, and the path that a back end could take each for, from that folder on. */
  paths: readonly { path: string; means: string }[]
}

const misread: readonly Misread[] = [
  {
    about: 'a backslash in a name does not lead to another folder',
    traits: 'a backslash in traits.forbiddenInNames',
    paths: [
      { path: '..\\x', means: '../x' },
      { path: '..\\outside/x', means: '../outside/x' },
      { path: '..\\..\\x', means: '../../x' },
      { path: 'inner\\x', means: 'inner/x' },
      { path: 'inner\\..\\x', means: 'x' },
    ],
  },
  {
    about: 'a colon in a name does not lead to a stream of another file',
    traits: 'a colon in traits.forbiddenInNames',
    paths: [
      { path: 'a:b', means: 'a' },
      { path: 'a::$DATA', means: 'a' },
    ],
  },
  {
    about: 'a dot or a space at the end of a name is not dropped',
    traits: 'these characters in traits.forbiddenAtEndOfNames',
    paths: [
      { path: 'trailing.', means: 'trailing' },
      { path: 'trailing ', means: 'trailing' },
      { path: 'trailing. .', means: 'trailing' },
      { path: 'folder./x', means: 'folder/x' },
      { path: 'folder /x', means: 'folder/x' },
    ],
  },
  {
    about: 'names of devices of Windows are those of files',
    traits: 'them in traits.reservedNames, as "con.*"',
    paths: ['con', 'NUL', 'aux.txt', 'com1', 'prn/x'].map(path => ({ path, means: 'ordinary' })),
  },
]

export const nameCases: Case[] = [
  ...misread.map(({ about: name, traits, paths }): Case => {
    return {
      name: `names: ${name}, or they are refused`,
      async run(provider) {
        for (const [index, { path, means }] of paths.entries()) {
          await isOneName(provider, `case ${index}/top/outer`, { path, means }).catch(cause => {
            const hint = `Where the back end gives such names a meaning, put ${traits}, or add all of windowsNames to the traits: the host then passes no such path.`
            throw new Error(`${JSON.stringify(path)}: ${cause.message} ${hint}`, { cause })
          })
        }
      },
    }
  }),
  {
    name: 'common file names are stored exactly, except those that the traits or the harness state',
    async run(provider, harness) {
      await refusesAsStated(provider, harness, name => name)
      await keepsNames(provider, storable(provider, harness), '')
    },
  },
  {
    name: 'common folder names are stored exactly, except those that the traits or the harness state',
    async run(provider, harness) {
      await refusesAsStated(provider, harness, name => `${name}/file`)
      await keepsFolders(provider, storable(provider, harness))
    },
  },
  {
    name: 'odd file names are stored exactly or refused with INVALID_PATH',
    run: (provider, harness) => keepsNames(provider, oddNamesFor(harness), ''),
  },
  {
    name: 'odd folder names are stored exactly or refused with INVALID_PATH',
    run: (provider, harness) => keepsFolders(provider, oddNamesFor(harness)),
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

/** Without case, some names are the same. */
function oddNamesFor({ foldsCase }: Harness): string[] {
  return foldsCase ? [...new Map(oddNames.map(name => [name.toLowerCase(), name])).values()] : oddNames
}

/** Returns whether the harness or the traits state that a common name is refused. */
function isStated({ traits }: StorageProvider, { refuses }: Harness, name: string): boolean {
  return (nameRules(traits)?.(name) ?? null) !== null || (refuses?.(name) ?? false)
}

function storable(provider: StorageProvider, harness: Harness): string[] {
  return commonNames.filter(name => !isStated(provider, harness, name))
}

/**
 * Checks that a path in the folder is refused and missing, or that it is stored under exactly its names and is no other path.
 * @param names.means the path from the folder on, for which a back end could take the other one
 */
async function isOneName(
  provider: StorageProvider,
  folder: string,
  { path, means }: { path: string; means: string },
): Promise<void> {
  const canary = joined(folder, means)
  const tried = `${folder}/${path}`
  await put(provider, `${folder}/beside`, '')
  await put(provider, canary, 'canary')
  const reads = {
    stat: () => provider.stat(at(tried), call()),
    read: () => get(provider, tried),
    list: () => listAll(provider, tried),
  }
  for (const [what, read] of Object.entries(reads)) {
    const found = await read().then(
      () => 'finds an entry',
      error => (['NOT_FOUND', 'INVALID_PATH'].includes(error.code) ? null : `fails with ${error.message}`),
    )
    // Where folders do not exist by themselves, an empty listing means that the folder is missing.
    const isEmpty =
      what === 'list' && !provider.traits.emptyDirectories && (await listAll(provider, tried)).length === 0
    assert.ok(found === null || isEmpty, `nothing has this name yet, but ${what} ${found}.`)
  }
  const isRefused = await refused(put(provider, tried, 'own')).catch(error => assert.fail(`write fails with ${error}.`))
  if (isRefused) {
    await provider.delete(at(tried), call()).catch(error => assert.equal(error.code, 'INVALID_PATH', `${error}.`))
  } else {
    const [name = ''] = path.split('/')
    const names = await namesIn(provider, folder)
    assert.ok(names.includes(name), `it was stored, but the listing has ${JSON.stringify(names)}.`)
    await has(provider, tried, 'own')
    await provider.delete(at(tried), call())
  }
  await has(provider, canary, 'canary').catch(error =>
    assert.fail(`${means} was changed through it (${error.message}).`),
  )
}

/** Resolves the `..` of a path, as a back end would. */
function joined(folder: string, path: string): string {
  const names = folder.split('/')
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else names.push(name)
  }
  return names.join('/')
}

async function refusesAsStated(
  provider: StorageProvider,
  harness: Harness,
  pathOf: (name: string) => string,
): Promise<void> {
  for (const name of commonNames) {
    const expected = isStated(provider, harness, name)
    const actual = await about(name, () => refused(put(provider, pathOf(name), name)))
    const found = actual ? 'refused' : 'stored'
    const hint = 'it must be refused exactly if the traits or `refuses` of the harness say so'
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
