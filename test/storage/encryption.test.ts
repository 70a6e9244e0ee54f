/** Encrypted storages in front of a local disk: the contract holds, ranges read little, and damage never becomes content. */
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { at, bodyOf, call, get, listAll, namesIn, pattern, put, rejectsWith } from '../../adapters/conformance/kit.ts'
import type { Call, Entry, StorageProvider } from '../../adapters/contract.ts'
import { withMethods } from '../../adapters/name-rules.ts'
import { AppError } from '../../src/errors.ts'
import { blockBytes, contentSize, largestContent, storedSize } from '../../src/storage/encryption/blocks.ts'
import { Eme } from '../../src/storage/encryption/eme.ts'
import { type Encryption, requireDecryptable, withEncryption } from '../../src/storage/encryption/index.ts'
import { deriveKeys } from '../../src/storage/encryption/keys.ts'
import { NameCipher } from '../../src/storage/encryption/names.ts'
import { nativeSecretbox, nonceBytes, portableSecretbox, tagBytes } from '../../src/storage/encryption/secretbox.ts'
import { faults, runConformance } from '../adapters/conformance.ts'
import { silentHost } from '../adapters/host.ts'
import { openTemporary } from '../adapters/temporary.ts'
import { extent, inTurn } from '../support/extent.ts'

const usual: Encryption = {
  password: 'correct horse',
  salt: 'battery staple',
  names: 'STANDARD',
  encoding: 'BASE32',
  encryptFolderNames: true,
  suffix: '.bin',
}
const header = storedSize(0)
const storedBlock = storedSize(blockBytes) - header

const warnings: string[] = []
const encrypted = (provider: StorageProvider, settings: Partial<Encryption> = {}) =>
  withEncryption(provider, { ...usual, ...settings }, message => warnings.push(message))

async function open(settings: Partial<Encryption> = {}) {
  const { provider: backEnd, root } = await openTemporary(t)
  return { provider: await encrypted(backEnd, settings), backEnd, root }
}

const others = inTurn([{ names: 'OFF' as const }, { encryptFolderNames: false }])
for (const [part, settings] of [{}, ...others].entries()) {
  const roots = new Map<StorageProvider, string>()
  const harness = {
    async open() {
      const { provider, root } = await open(settings)
      roots.set(provider, root)
      return provider
    },
    async reopen(provider: StorageProvider) {
      const root = roots.get(provider) ?? ''
      const adapter = localAdapter({ localRoots: [root], dataFolder: '/nowhere' })
      return encrypted(await adapter.open({ root }, silentHost), settings)
    },
    refuses: (name: string) => Buffer.byteLength(name) > ('names' in settings ? 251 : 143),
    manyEntries: extent({ gate: 300, nightly: 2000 }),
  }
  const lacks = [
    'openFolder in the harness',
    'hasCreateRaces in the harness',
    'the method openFile',
    'the method presign',
  ]
  const lacksParts = 'parts of resumable writes'
  t.test(`conformance with ${JSON.stringify(settings)}`, async t => {
    runConformance(t, null, harness, [...lacks, lacksParts, ...faults], part)
  })
}

t.test('EME has the results of the vectors of the draft EME-32', async t => {
  const eme = new Eme(Buffer.alloc(32), Buffer.alloc(16))
  const ends = (bytes: Buffer) => [bytes.subarray(0, 16).toString('hex'), bytes.subarray(-16).toString('hex')]
  t.same(ends(eme.encrypt(Buffer.alloc(512))), ['9f2e6c3daecae79e8839b0588ff378cd', 'ac209c2cd3cc577c28eedaafcedd89a6'])
  t.same(ends(eme.decrypt(Buffer.alloc(512))), ['080905dee8ebcc89f68bd1af635db3f5', '3af804a5c9dab34420f260e4bd840829'])
  for (const blocks of [1, 2, 3, 127, 128]) {
    const text = randomBytes(16 * blocks)
    t.ok(eme.decrypt(eme.encrypt(text)).equals(text), `${blocks} blocks`)
  }
  for (const bytes of [0, 15, 17, 16 * 129]) t.throws(() => eme.encrypt(Buffer.alloc(bytes)), RangeError)
})

t.test('stored sizes and sizes of contents fit each other', async t => {
  for (const base of [0, 1, 2, 17, 1000].map(blocks => blocks * blockBytes)) {
    for (const size of [base - 1, base, base + 1].filter(each => each >= 0)) {
      t.equal(contentSize(storedSize(size)), size)
      t.equal(largestContent(storedSize(size)), size)
    }
  }
  for (const stored of [0, 31, 33, 48, header + storedBlock + 16]) t.equal(contentSize(stored), null, `${stored}`)
})

t.test('names of every encoding can be read again, and nothing else is a name', async t => {
  const keys = await deriveKeys(usual)
  for (const encoding of ['BASE32', 'BASE64', 'BASE32768'] as const) {
    const names = new NameCipher(keys, { ...usual, encoding })
    for (const name of [
      'a',
      'x'.repeat(16),
      'ä'.repeat(500),
      '__proto__',
      '\u202edesrever',
      'a\nb',
      'a-v2001-02-03-040506-123.b',
    ]) {
      t.equal(names.plainName(names.storedName(name, 'file'), 'file'), name)
      t.equal(names.plainName(names.storedName(name, 'directory'), 'directory'), name)
    }
    t.throws(() => names.storedName('x'.repeat(2048), 'file'), { code: 'INVALID_PATH' })
    const stored = names.storedName('readme', 'file')
    for (const other of [
      '',
      'readme',
      '.',
      '..',
      `${stored}=`,
      `${stored}a`,
      stored.slice(1),
      'v'.repeat(26),
      'ƀ'.repeat(9),
    ]) {
      t.equal(names.plainName(other, 'file'), null, other)
    }
    if (encoding === 'BASE32') t.equal(names.plainName(stored.toUpperCase(), 'file'), null)
  }
  // What decrypts to something that is no name, or to a version that was stored as an ordinary name.
  const names = new NameCipher(keys, usual)
  for (const bad of ['a/b', '..', 'a\0b', 'x'.repeat(1025)]) {
    t.equal(names.plainName(names.storedName(bad, 'directory'), 'directory'), null, bad)
  }
  const version = 'a-v2001-02-03-040506-123'
  t.equal(names.plainName(names.storedName(version, 'directory'), 'file'), null)
  t.equal(names.plainName(names.storedName('a-v2001-02-30-040506-123', 'file'), 'file'), 'a-v2001-02-30-040506-123')
})

/** Returns the provider with the stored bytes that are asked for, by the number of requests. */
function counting(provider: StorageProvider) {
  const counts = { reads: 0, bytes: 0 }
  const read: StorageProvider['read'] = async (path, options) => {
    const result = await provider.read(path, options)
    counts.reads += 1
    counts.bytes += options.range?.length ?? Number.POSITIVE_INFINITY
    return result
  }
  return { counts, provider: withMethods(provider, { read, readSmall: undefined as never }) }
}

t.test('a range has the right bytes, and reads only its blocks', async t => {
  const { provider: backEnd } = await openTemporary(t)
  const { counts, provider: counted } = counting(backEnd)
  const provider = await encrypted(counted)
  const size = 20 * blockBytes + 12_345
  const whole = pattern(size)
  await put(provider, 'file', whole)
  const edges = [0, 1, blockBytes - 1, blockBytes, blockBytes + 1, 7 * blockBytes, 19 * blockBytes + 5, size - 1]
  for (const offset of edges) {
    for (const length of [1, 17, blockBytes, blockBytes + 1, 5 * blockBytes]) {
      Object.assign(counts, { reads: 0, bytes: 0 })
      const bytes = await get(provider, 'file', { offset, length })
      t.ok(bytes.equals(whole.subarray(offset, offset + length)), `${length} from ${offset}`)
      const blocks = Math.ceil(((offset % blockBytes) + length) / blockBytes)
      t.ok(
        counts.bytes <= blocks * storedBlock + header && counts.reads <= 2,
        `${counts.reads} reads of ${counts.bytes}`,
      )
    }
    t.ok((await get(provider, 'file', { offset })).equals(whole.subarray(offset)), `all from ${offset}`)
  }
  Object.assign(counts, { reads: 0 })
  await get(provider, 'file', { offset: 3 * blockBytes, length: 1 })
  t.equal(counts.reads, 1, 'the header is known')
  await put(provider, 'file', whole.subarray(0, 4 * blockBytes), true)
  t.ok((await get(provider, 'file', { offset: 3 * blockBytes })).equals(whole.subarray(3 * blockBytes, 4 * blockBytes)))
  for (const offset of [4 * blockBytes, 5 * blockBytes]) {
    await rejectsWith('RANGE_NOT_SATISFIABLE', get(provider, 'file', { offset }))
  }
})

/** Reads the file `file` from `offset` on. Returns the error, if there is one, and the number of bytes that were received before it. */
async function readDamaged(provider: StorageProvider, original: Buffer, offset = 0) {
  let received = 0
  try {
    const range = offset > 0 ? { range: { offset } } : {}
    const { body } = await provider.read(at('file'), { ...call(), ...range })
    for await (const bytes of body) {
      const expected = original.subarray(offset + received, offset + received + bytes.length)
      if (!expected.equals(bytes)) throw new Error('wrong bytes')
      received += bytes.length
    }
    return { reason: null, received }
  } catch (error) {
    return { reason: error instanceof AppError ? error.reason : error, message: String(error), received }
  }
}

t.test('what is damaged is an error with the name of the file, and never wrong bytes', async t => {
  const { provider, root } = await open()
  const original = pattern(40 * blockBytes + 100)
  await put(provider, 'file', original)
  const [name = ''] = (await readdir(root)).filter(each => !each.startsWith('.'))
  const path = join(root, name)
  const stored = await readFile(path)
  const block = (index: number) => header + index * storedBlock
  const flipped = (position: number) => {
    const bytes = Buffer.from(stored)
    bytes[position] = (bytes[position] ?? 0) ^ 0x40
    return bytes
  }
  const swapped = Buffer.from(stored)
  stored.copy(swapped, block(3), block(30), block(31))
  stored.copy(swapped, block(30), block(3), block(4))
  const cases: [what: string, bytes: Buffer, received: number][] = [
    ['a bit of the magic', flipped(3), 0],
    ['a bit of the nonce', flipped(20), 0],
    ['a bit of the first block', flipped(block(0) + 20), 0],
    ['a bit of a tag', flipped(block(35)), 35],
    ['a bit of the last block', flipped(stored.length - 1), 40],
    ['two blocks that are swapped', swapped, 3],
    ['a block that is missing', Buffer.concat([stored.subarray(0, block(20)), stored.subarray(block(21))]), 20],
    ['an end within a block', stored.subarray(0, block(20) + 500), 20],
    ['an end within a tag', stored.subarray(0, block(20) + 10), 20],
    ['an end within the header', stored.subarray(0, 20), 0],
    ['nothing', Buffer.alloc(0), 0],
    ['clear text', original, 0],
  ]
  for (const [what, bytes, blocks] of cases) {
    await writeFile(path, bytes)
    const found = await readDamaged(provider, original)
    t.match(found, { reason: 'DAMAGED', message: /"file" cannot be decrypted/ }, what)
    t.ok(found.received <= blocks * blockBytes, `${what}: ${found.received} bytes`)
    t.match(await readDamaged(provider, original, blocks * blockBytes + 1), { received: 0 }, what)
    t.equal((await provider.stat(at('file'), call())).kind, 'file')
  }
  await writeFile(path, stored)
  t.match(await readDamaged(provider, original), { reason: null, received: original.length })
  const other = await encrypted((await open()).backEnd, { password: 'another' })
  t.same(await namesIn(other, ''), [])
})

t.test('entries whose names cannot be decrypted are left out, and counted in the log', async t => {
  const { provider, root } = await open()
  await put(provider, 'folder/mine', 'x')
  const [folder = ''] = (await readdir(root)).filter(each => !each.startsWith('.'))
  await writeFile(join(root, folder, 'foreign'), 'clear text')
  warnings.length = 0
  t.same(await namesIn(provider, 'folder'), ['mine'])
  t.same(warnings, ['Omitted from a listing, because their names cannot be decrypted: 1.'])
  await rejectsWith('NOT_FOUND', provider.stat(at('folder/foreign'), call()))
  await rejectsWith(
    'NOT_EMPTY',
    provider.delete(at('folder'), call()).then(() => provider.delete(at('folder'), call())),
  )
})

t.test('a password that does not fit what is there is refused', async t => {
  for (const settings of [{}, { names: 'OFF' as const }]) {
    const { provider, backEnd } = await open(settings)
    await requireDecryptable(backEnd, provider, call())
    await put(provider, 'file', 'content')
    await requireDecryptable(backEnd, provider, call())
    const wrong = await encrypted(backEnd, { ...settings, password: 'mistyped' })
    const refusal = await requireDecryptable(backEnd, wrong, call()).catch(error => error)
    t.equal(refusal.reason, 'INVALID_CONFIG')
  }
})

t.test('a long name is refused with the length that it would have', async t => {
  const { provider } = await open()
  const write = provider.write(at(`folder/${'x'.repeat(144)}`), bodyOf(''), { ...call(), overwrite: false })
  await t.rejects(write, { code: 'INVALID_PATH', message: /Encrypted, a name of this path has 256 bytes/ })
  await t.rejects(put(provider, Array(18).fill('x'.repeat(140)).join('/'), ''), { message: /longer than 4096 bytes/ })
})

t.test('an upload continues where a back end takes parts of another size, with a minimum and multiples', async t => {
  for (const [partSize, multiple] of [
    [100_000, 100_000],
    [100_000, 1],
    [1_000_000, 250_000],
  ] as const) {
    await t.test(`at least ${partSize} bytes, and multiples of ${multiple}`, t => continues(t, partSize, multiple))
  }
  const { provider: backEnd } = await openTemporary(t)
  const { resumable } = backEnd
  assert(resumable)
  const change = { partSize: 1024 * 1024, partMultiple: 1024 * 1024 }
  const large = await encrypted(withMethods(backEnd, { resumable: withMethods(resumable, change) }))
  t.equal(large.resumable, undefined, 'too large parts to keep some of their bytes')
})

async function continues(t: Test, partSize: number, partMultiple: number): Promise<void> {
  const { provider: backEnd } = await openTemporary(t)
  const { resumable } = backEnd
  assert(resumable)
  const sizes = new Set<number>()
  const provider = await encrypted(
    withMethods(backEnd, {
      resumable: withMethods(resumable, {
        partSize,
        partMultiple,
        append(state, body, options) {
          t.ok(options.size >= partSize)
          t.equal(options.size % partMultiple, 0)
          sizes.add(options.size)
          return resumable.append(state, body, options)
        },
      }),
    }),
  )
  const uploads = provider.resumable
  assert(uploads)
  t.equal(uploads.partSize, Math.ceil(partSize / blockBytes) * blockBytes)
  for (const size of [0, 1, uploads.partSize, 3 * uploads.partSize, 5 * uploads.partSize + 77]) {
    const bytes = pattern(size, size)
    let state: string = await uploads.begin(at('file'), { ...call(), size })
    let offset = 0
    for (; size - offset > uploads.partSize; offset += uploads.partSize) {
      const next: Call & { offset: number; size: number } = { ...call(), offset, size: uploads.partSize }
      const body = (): Readable => bodyOf(bytes.subarray(offset, offset + uploads.partSize))
      const first = await uploads.append(state, body(), next)
      t.equal(await uploads.append(state, body(), next), first, 'a repeated call has the same result')
      state = first
    }
    const rest = bytes.subarray(offset)
    const entry: Entry = await uploads.complete(state, bodyOf(rest), {
      ...call(),
      offset,
      size: rest.length,
      overwrite: true,
    })
    t.equal(entry.size, size)
    t.ok((await get(provider, 'file')).equals(bytes), `${size} bytes`)
  }
  if (partMultiple === 1) t.equal(sizes.size, 1, 'all parts have one length')
  const states: string[] = []
  const unfinished = { began: async (state: string) => void states.push(state), ended: async () => {} }
  await uploads.abort(await uploads.begin(at('other'), { ...call(), unfinished }), call())
  for (const state of states) await uploads.abort(state, call())
  t.same(
    (await listAll(provider, '')).map(({ name }) => name),
    ['file'],
  )
}

t.test('libsodium and the portable cipher give the same bytes, and refuse damaged ones', async t => {
  const ciphers = [await nativeSecretbox(), await portableSecretbox()] as const
  const [key, nonce] = [randomBytes(32), randomBytes(nonceBytes)]
  for (const size of [1, 15, 16, 17, 63, 64, 65, 1000, blockBytes - 1, blockBytes]) {
    const content = randomBytes(size)
    const [sealed, same] = ciphers.map(cipher => {
      const bytes = Buffer.concat([Buffer.alloc(tagBytes), content])
      cipher.seal(bytes, nonce, key)
      return bytes
    })
    assert(sealed && same)
    t.ok(sealed.equals(same), `${size} bytes`)
    for (const cipher of ciphers) {
      const apart = Buffer.alloc(size)
      t.ok(cipher.open(sealed, apart, nonce, key) && apart.equals(content))
      // Each block of several moves to the end of the one before.
      const moved = Buffer.concat([Buffer.alloc(tagBytes), sealed])
      t.ok(cipher.open(moved.subarray(tagBytes), moved.subarray(0, size), nonce, key))
      t.ok(moved.subarray(0, size).equals(content))
      const damaged = Buffer.from(sealed)
      const at = randomInt(damaged.length)
      damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at)
      t.notOk(cipher.open(damaged, damaged.subarray(tagBytes), nonce, key), `byte ${at} of ${size}`)
    }
  }
})

t.test('a slow body is passed on block by block', async t => {
  const { provider } = await open()
  const body = new Readable({ read() {} })
  const writing = provider.write(at('slow'), body, { ...call(), overwrite: false })
  const bytes = randomBytes(300_000)
  for (let start = 0; start < bytes.length; start += 997) body.push(bytes.subarray(start, start + 997))
  body.push(null)
  await writing
  t.ok((await buffer((await provider.read(at('slow'), call())).body)).equals(bytes))
})
