import { randomUUID } from 'node:crypto'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import fc from 'fast-check'
import t from 'tap'
import { decodeKey, Keys } from '../../adapters/backends/s3/entry.ts'
import { compare } from '../../adapters/backends/s3/provider.ts'
import {
  at,
  call,
  get,
  has,
  isMissing,
  listAll,
  makeFolder,
  namesIn,
  put,
  rejectsWith,
} from '../../adapters/conformance/kit.ts'
import { oddNames } from '../../adapters/conformance/names.ts'
import { s3Server } from '../servers/radosgw.ts'
import { atNight, extent } from '../support/extent.ts'
import { recordingHost } from './host.ts'
import { openS3 } from './s3-provider.ts'

t.setTimeout(300_000)

const server = await s3Server(t)
const bucket = await server.newBucket()

function putKey(Key: string, content = ''): Promise<unknown> {
  return server.client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Buffer.from(content) }))
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = [...items]
  const worker = async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

/** Returns files as `name` and folders as `name/`, in the order of the pages. */
async function listing(provider: Parameters<typeof listAll>[0], path: string, limit: number): Promise<string[]> {
  return (await listAll(provider, path, limit)).map(entry => (entry.kind === 'file' ? entry.name : `${entry.name}/`))
}

/** By night, more than one page of S3, which has 1,000. */
const count = extent({ gate: 150, nightly: 2_500 })

atNight(t, 'pages of any size list many files and folders in order', async t => {
  const prefix = randomUUID()
  const names = Array.from({ length: count }, (_, i) => `${(i * 7919) % count}${i % 3 === 0 ? '/' : ''}`)
  await inParallel(names, name => putKey(`${prefix}/many/${name}${name.endsWith('/') ? 'file' : ''}`))
  await putKey(`${prefix}/many/`)
  const provider = await openS3(server, bucket, { config: { prefix } })
  const sorted = names.toSorted(compare)
  for (const limit of [1000, 999, 137, 47])
    t.strictSame(await listing(provider, 'many', limit), sorted, `limit ${limit}`)
  await provider.deleteTree(at('many'), call())
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('odd folder names are listed unchanged, and deleteTree removes their content', async t => {
  const provider = await openS3(server, bucket)
  for (const name of oddNames) await put(provider, `all/${name}/file`, name)
  t.strictSame(await namesIn(provider, 'all'), [...oddNames].sort())
  for (const name of oddNames) t.strictSame(await namesIn(provider, `all/${name}`), ['file'])
  for (const name of oddNames) await put(provider, `all/file ${name}`, name)
  await provider.deleteTree(at('all'), call())
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('listings leave out keys that are not valid paths, and deleteTree removes them', async t => {
  const prefix = randomUUID()
  const host = recordingHost()
  const provider = await openS3(server, bucket, { config: { prefix }, host })
  for (const key of ['good', '/', '//x', './x', '../x', '.', '..']) await putKey(`${prefix}/folder/${key}`)
  t.strictSame(await namesIn(provider, 'folder'), ['good'])
  t.strictSame(
    host.warnings.map(({ details }) => [details.path, details.count]),
    [['folder', 5]],
  )
  await provider.deleteTree(at('folder'), call())
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('a provider never leaves its prefix', async t => {
  const odd = 'ü+ %2F "quoted" &<'
  const open = (prefix: string) => openS3(server, bucket, { config: { prefix } })
  const [a, ab, slashed, special] = await Promise.all([open('a'), open('ab'), open('/a/deeper/'), open(odd)])
  await put(a, 'file', 'in a')
  await put(ab, 'file', 'in ab')
  await put(special, 'sub folder/file', 'odd')
  await put(slashed, 'x', 'deeper')
  t.strictSame(await namesIn(a, ''), ['deeper', 'file'])
  t.strictSame(await namesIn(ab, ''), ['file'])
  t.strictSame(await namesIn(special, ''), ['sub folder'])
  t.strictSame(await namesIn(special, 'sub folder'), ['file'])
  await has(a, 'deeper/x', 'deeper')
  await has(ab, 'file', 'in ab')
  await a.deleteTree(at('deeper'), call())
  await a.delete(at('file'), call())
  await has(ab, 'file', 'in ab')
  for (const path of ['../ab/file', '..', 'x/../../ab/file', '/file', 'x//y', './file']) {
    await rejectsWith('INVALID_PATH', get(a, path))
    await rejectsWith('INVALID_PATH', put(a, path, 'no'))
    await rejectsWith('INVALID_PATH', a.deleteTree(at(path), call()))
    await rejectsWith('INVALID_PATH', a.list(at(path), { ...call(), limit: 10 }))
  }
})

t.test('folders', async t => {
  t.test('a folder exists while any key is below it, with or without a marker', async t => {
    const prefix = randomUUID()
    const provider = await openS3(server, bucket, { config: { prefix } })
    await putKey(`${prefix}/made/elsewhere/file`)
    for (const path of ['made', 'made/elsewhere']) {
      t.match(await provider.stat(at(path), call()), { kind: 'directory', size: null })
      await rejectsWith('ALREADY_EXISTS', makeFolder(provider, path, true))
      await makeFolder(provider, path)
      await rejectsWith('ALREADY_EXISTS', put(provider, path, 'no'))
      await rejectsWith('NOT_EMPTY', provider.delete(at(path), call()))
    }
    await makeFolder(provider, 'empty/one')
    t.strictSame(await namesIn(provider, 'empty'), ['one'])
    t.strictSame(await namesIn(provider, 'empty/one'), [])
    t.strictSame(await namesIn(provider, ''), ['empty', 'made'])
  })

  t.test('a folder stays after its last entry is deleted, and deleting nothing creates nothing', async t => {
    const provider = await openS3(server, bucket)
    await put(provider, 'a/b/file', '')
    await provider.delete(at('a/b/file'), call())
    t.strictSame(await namesIn(provider, 'a/b'), [])
    await provider.delete(at('a/b'), call())
    t.strictSame(await namesIn(provider, 'a'), [])
    await put(provider, 'a/tree/deep/file', '')
    await provider.deleteTree(at('a/tree'), call())
    t.strictSame(await namesIn(provider, 'a'), [])
    await provider.delete(at('never/was'), call())
    await provider.deleteTree(at('never/was'), call())
    await isMissing(provider, 'never')
    t.strictSame(await namesIn(provider, ''), ['a'])
  })
})

t.test('a file hides a folder of the same name', async t => {
  const prefix = randomUUID()
  const host = recordingHost()
  const provider = await openS3(server, bucket, { config: { prefix }, host })
  // These keys sort between the file and the folder.
  const keys = ['both', 'both!', 'both-1', 'both.txt', 'both/inside', 'other']
  await inParallel(keys, key => putKey(`${prefix}/${key}`, key))
  t.match(await provider.stat(at('both'), call()), { kind: 'file', size: 4 })
  await has(provider, 'both', 'both')
  await has(provider, 'both/inside', 'both/inside')
  t.strictSame(await namesIn(provider, 'both'), ['inside'])
  for (const limit of [1, 2, 3, 4, 5, 100]) {
    t.strictSame(await listing(provider, '', limit), ['both', 'both!', 'both-1', 'both.txt', 'other'], `limit ${limit}`)
  }
  t.match(host.warnings[0], { details: { example: 'both', count: 1 } })
  await rejectsWith('NOT_A_DIRECTORY', put(provider, 'both/more', 'no'))
  await put(provider, 'both', 'changed', true)
  await has(provider, 'both', 'changed')
  await provider.deleteTree(at('both'), call())
  await has(provider, 'both/inside', 'both/inside')
  t.strictSame(await listing(provider, '', 100), ['both!', 'both-1', 'both.txt', 'both/', 'other'])
})

t.test('paths and keys', async t => {
  const numRuns = extent({ gate: 20, nightly: 100 })
  const segment = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 20 })
    .filter(name => !/[/\0]/.test(name) && name !== '.' && name !== '..')
  const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map(names => names.join('/'))
  t.test('each path has its own key below the base', async t => {
    fc.assert(
      fc.property(path, path, path, (base, one, other) => {
        const keys = new Keys(`${base}/`)
        const key = keys.file(at(one))
        return (
          key === `${base}/${one}` &&
          keys.folder(at(one)) === `${key}/` &&
          (one === other) === (key === keys.file(at(other))) &&
          decodeKey(encodeURIComponent(key)) === key &&
          decodeKey(encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/')) === key
        )
      }),
      { numRuns },
    )
    t.pass()
  })
  t.test('paths that leave the base or are too long are refused', async t => {
    const bad = fc.constantFrom('', '.', '..', 'a\0b', '\ud800', 'x'.repeat(1024))
    fc.assert(
      fc.property(
        fc.array(fc.oneof(segment, bad), { minLength: 1, maxLength: 4 }),
        bad,
        fc.nat(),
        (names, worst, i) => {
          const path = names.toSpliced(i % (names.length + 1), 0, worst).join('/')
          if (path === '') return true
          for (const kind of ['file', 'folder'] as const) {
            try {
              new Keys('base/')[kind](at(path))
              return false
            } catch (error) {
              if ((error as { code?: unknown }).code !== 'INVALID_PATH') return false
            }
          }
          return true
        },
      ),
      { numRuns },
    )
    t.pass()
  })
  t.test('names are sorted by their code points', async t => {
    const order = (a: string[], b: string[]): number => {
      const [[x, ...xs], [y, ...ys]] = [a, b]
      if (x === undefined || y === undefined) return Math.sign(a.length - b.length)
      return x === y ? order(xs, ys) : Math.sign((x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0))
    }
    fc.assert(
      fc.property(segment, segment, (a, b) => Math.sign(compare(a, b)) === order([...a], [...b])),
      { numRuns },
    )
    t.ok(compare('\u{1f5c4}', '\uffee') > 0, 'the order is not that of UTF-16')
  })
})
