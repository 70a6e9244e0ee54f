/** An encrypted storage in the memory. `make` stores what rclone could store, and `all` decrypts what is stored. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { get, listAll, put } from '../../adapters/conformance/kit.ts'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'
import { isName } from '../../src/auth/path.ts'
import { ContentCipher } from '../../src/storage/encryption/content.ts'
import { deriveKeys } from '../../src/storage/encryption/keys.ts'
import { NameCipher } from '../../src/storage/encryption/names.ts'
import { loadSecretbox, nonceBytes } from '../../src/storage/encryption/secretbox.ts'
import type { BackEnd, Item } from './back-ends.ts'

const encryption = { password: 'correct horse', salt: 'battery staple' }
const settings = { names: 'STANDARD', encoding: 'BASE32', encryptFolderNames: true, suffix: '.bin' } as const

export interface EncryptedBackEnd extends BackEnd {
  /** The storage below, which has no encryption. */
  stored: StorageProvider
  names: NameCipher
  /** The stored paths of what tests have put there, and what the storage must leave out. */
  foreign: Set<string>
}

export async function encryptedMemory(): Promise<EncryptedBackEnd> {
  const stored = await memoryAdapter.open({ maxBytes: 64 * 1024 * 1024 }, undefined as never)
  const keys = await deriveKeys(encryption)
  const names = new NameCipher(keys, settings)
  const content = new ContentCipher(keys.content, await loadSecretbox())

  const foreign = new Set<string>()

  async function walk(path: string, plain: readonly string[]): Promise<Item[]> {
    const items = (await listAll(stored, path)).map(async ({ name, kind }): Promise<Item[]> => {
      const storedPath = path === '' ? name : `${path}/${name}`
      if (foreign.has(storedPath)) return [{ at: [...plain, name], is: 'foreign' }]
      const plainName = names.plainName(name, kind)
      assert(plainName !== null, `${storedPath} is stored under a name that is not encrypted`)
      const at = [...plain, plainName]
      if (kind === 'directory') return [{ at, is: 'folder' }, ...(await walk(storedPath, at))]
      const bytes = content.openBytes(await get(stored, storedPath))
      assert(bytes, `the content of ${storedPath} is not encrypted`)
      return [{ at, is: Buffer.from(bytes).toString() }]
    })
    return (await Promise.all(items)).flat()
  }

  return {
    type: 'memory',
    encryption,
    stored,
    names,
    foreign,
    adapters: () => [{ ...memoryAdapter, open: async () => stored } as AdapterDefinition],
    config: async () => ({}),
    spelled: path => path.split('/').filter(name => name !== ''),
    async make(where, text) {
      const encrypted = where.map((name, depth) =>
        names.storedName(name, depth === where.length - 1 ? 'file' : 'directory'),
      )
      if (!where.every(isName)) foreign.add(encrypted.join('/'))
      const sealed = content.sealed(Readable.from([Buffer.from(text)]), { nonce: randomBytes(nonceBytes), first: 0 })
      await put(stored, encrypted.join('/'), await buffer(sealed), true)
    },
    all: () => walk('', []),
  }
}
