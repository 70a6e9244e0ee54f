import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StorageProvider } from '../contract.ts'
import { at, type Case, call, has, Lacking, pattern, put } from './kit.ts'

const needs: NonNullable<Case['needs']> = ({ presign }) => (presign ? undefined : 'the method presign')

/** The maximum time in milliseconds that a link may work after its expiry, because clocks differ. */
const grace = 20_000

const paths = ['file', 'a folder/100% of #1, a+b & "c"?.txt', 'café/日本語 🗄️']

export const presignCases: Case[] = [
  {
    name: 'presign: a read link returns the bytes without credentials, for any name',
    needs,
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
    needs,
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
    needs,
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
    needs,
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
    needs,
    async run(provider) {
      await put(provider, 'file', 'content')
      const { url, headers } = await presigned(provider, 'file', 'GET', 1)
      const until = Date.now() + grace
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
