/** Cases about links and about the trash of a back end. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NativeTrash, StorageProvider } from '../contract.ts'
import { at, type Case, call, has, isMissing, Lacking, namesIn, pattern, put, rejectsWith } from './kit.ts'

const hasLinks: NonNullable<Case['needs']> = ({ presign }) => (presign ? undefined : 'the method presign')

/** The maximum time in milliseconds that a link may work after its expiry, because clocks differ. */
const clockTolerance = 20_000

const paths = ['file', 'a folder/100% of #1, a+b & "c"?.txt', 'café/日本語 🗄️']

export const presignCases: Case[] = [
  {
    name: 'presign: a read link returns the bytes without credentials, for any name',
    needs: hasLinks,
    async run(provider) {
      for (const [seed, path] of paths.entries()) {
        const bytes = pattern(200_000, seed)
        await put(provider, path, bytes)
        const { url, headers } = await presigned(provider, path, 'GET', 300)
        const response = await fetch(url, { headers })
        assert.equal(response.status, 200, `${path}: HTTP ${response.status}`)
        assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes), `${path}: other bytes`)
      }
    },
  },
  {
    name: 'presign: a read link responds with the requested headers',
    needs: hasLinks,
    async run(provider) {
      await put(provider, 'page.html', '<script>alert(1)</script>')
      const contentDisposition = 'attachment; filename="page ?.html"; filename*=UTF-8\'\'page%20%C3%A9.html'
      const responseHeaders = { contentType: 'text/plain', contentDisposition }
      const link = await provider.presign?.(at('page.html'), {
        ...call(),
        method: 'GET',
        expiresIn: 300,
        responseHeaders,
      })
      assert.ok(link)
      const response = await fetch(link.url, { headers: link.headers })
      await response.arrayBuffer()
      assert.equal(response.headers.get('content-disposition'), contentDisposition)
      assert.equal(response.headers.get('content-type'), 'text/plain')
    },
  },
  {
    name: 'presign: a write link stores the bytes, for any name',
    needs: hasLinks,
    async run(provider) {
      for (const [seed, path] of paths.entries()) {
        const bytes = pattern(200_000, seed)
        const { url, headers } = await presigned(provider, path, 'PUT', 300)
        const response = await fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) })
        assert.ok(response.ok, `${path}: HTTP ${response.status} ${await response.text()}`)
        await has(provider, path, bytes)
      }
    },
  },
  {
    name: 'presign: a read link cannot write',
    needs: hasLinks,
    async run(provider) {
      await put(provider, 'file', 'kept')
      const { url, headers } = await presigned(provider, 'file', 'GET', 300)
      const response = await fetch(url, { method: 'PUT', headers, body: 'changed' })
      assert.ok(!response.ok, `HTTP ${response.status}`)
      await has(provider, 'file', 'kept')
    },
  },
  {
    name: 'presign: a link expires on time',
    needs: hasLinks,
    async run(provider) {
      await put(provider, 'file', 'content')
      const { url, headers } = await presigned(provider, 'file', 'GET', 1)
      const until = Date.now() + clockTolerance
      for (;;) {
        await sleep(500)
        const response = await fetch(url, { headers })
        await response.arrayBuffer()
        if (!response.ok) return
        assert.ok(Date.now() < until, 'the link works long after its expiry')
      }
    },
  },
]

async function presigned(provider: StorageProvider, path: string, method: 'GET' | 'PUT', expiresIn: number) {
  const link = await provider.presign?.(at(path), { ...call(), method, expiresIn })
  if (link === null) throw new Lacking(`a ${method} link, but presign returned null`)
  assert.ok(link)
  assert.ok(link.url instanceof URL, 'url is not a URL')
  return link
}

const hasTrash: NonNullable<Case['needs']> = ({ trash }) => (trash ? undefined : 'a trash of its own')

function trashOf({ trash }: StorageProvider): NativeTrash {
  if (!trash) throw new Lacking('a trash of its own')
  return trash
}

/** Moves an entry to the trash and returns its id. */
async function discard(provider: StorageProvider, path: string): Promise<string> {
  const trash = trashOf(provider)
  const id = await trash.identify(at(path), call())
  assert.ok(id.length > 0 && id.length <= 1024, `an id has ${id.length} characters`)
  assert.equal(await trash.has(id, call()), false, 'an entry is in the trash before it is put there')
  await trash.put(id, at(path), call())
  return id
}

export const trashCases: Case[] = [
  {
    name: 'trash: a file leaves its path, and comes back to any path with its bytes',
    needs: hasTrash,
    async run(provider) {
      const trash = trashOf(provider)
      const bytes = pattern(70_000)
      await put(provider, 'folder/file', bytes)
      const id = await discard(provider, 'folder/file')
      await isMissing(provider, 'folder/file')
      assert.deepEqual(await namesIn(provider, 'folder'), [])
      assert.equal(await trash.has(id, call()), true)
      await trash.put(id, at('folder/file'), call())
      const entry = await trash.restore(id, at('a/b/other'), call())
      assert.deepEqual(entry, await provider.stat(at('a/b/other'), call()))
      await has(provider, 'a/b/other', bytes)
      assert.equal(await trash.has(id, call()), false)
    },
  },
  {
    name: 'trash: a directory comes back with everything below it',
    needs: hasTrash,
    async run(provider) {
      const trash = trashOf(provider)
      await put(provider, 'top/a/file', 'one')
      await put(provider, 'top/b', 'two')
      const below = await trash.identify(at('top/b'), call())
      const id = await discard(provider, 'top')
      await isMissing(provider, 'top')
      await isMissing(provider, 'top/a/file')
      assert.equal(
        await trash.has(below, call()),
        false,
        'an entry of a directory in the trash counts as deleted itself',
      )
      await trash.restore(id, at('top'), call())
      await has(provider, 'top/a/file', 'one')
      await has(provider, 'top/b', 'two')
    },
  },
  {
    name: 'trash: nothing is replaced',
    needs: hasTrash,
    async run(provider) {
      const trash = trashOf(provider)
      await put(provider, 'file', 'deleted')
      const id = await discard(provider, 'file')
      await put(provider, 'file', 'new')
      await rejectsWith('ALREADY_EXISTS', trash.restore(id, at('file'), call()))
      await has(provider, 'file', 'new')
      assert.equal(await trash.has(id, call()), true)
      await trash.restore(id, at('beside'), call())
      await has(provider, 'beside', 'deleted')
    },
  },
  {
    name: 'trash: two entries of one path are told apart, and a removed one is gone',
    needs: hasTrash,
    async run(provider) {
      const trash = trashOf(provider)
      await put(provider, 'file', 'first')
      const first = await discard(provider, 'file')
      await put(provider, 'file', 'second')
      const second = await discard(provider, 'file')
      assert.notEqual(first, second)
      await trash.remove(first, call())
      await trash.remove(first, call())
      assert.equal(await trash.has(first, call()), false)
      await rejectsWith('NOT_FOUND', trash.restore(first, at('file'), call()))
      await trash.restore(second, at('file'), call())
      await has(provider, 'file', 'second')
    },
  },
  {
    name: 'trash: only what is there is restored or removed, and a missing path has no id',
    needs: hasTrash,
    async run(provider) {
      const trash = trashOf(provider)
      await rejectsWith('NOT_FOUND', trash.identify(at('missing'), call()))
      await put(provider, 'file', 'kept')
      const id = await trash.identify(at('file'), call())
      await rejectsWith('NOT_FOUND', trash.restore(id, at('other'), call()))
      await trash.remove(id, call())
      await has(provider, 'file', 'kept')
    },
  },
]
