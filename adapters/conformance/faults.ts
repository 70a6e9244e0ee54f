import assert from 'node:assert/strict'
import type { StorageProvider } from '../contract.ts'
import type { Faults, Undo } from './harness.ts'
import { at, bodyOf, type Case, call, get, has, listAll, makeFolder, namesIn, put } from './kit.ts'

const needs =
  (fault: keyof Faults): NonNullable<Case['needs']> =>
  (_provider, { faults }) =>
    faults?.[fault] ? undefined : `faults.${fault} in the harness`

/** Milliseconds. */
const retryAfterMs = 2000
const second = 1000

export const faultCases: Case[] = [
  {
    name: 'faults: expired credentials are renewed, or reject with UNAUTHORIZED or NEEDS_RECONNECT',
    needs: needs('expireCredentials'),
    async run(provider, { faults }) {
      await put(provider, 'folder/file', 'content')
      const results = await during(faults?.expireCredentials?.(provider), () => everyCall(provider))
      for (const { what, error } of results) if (error) assertCode(what, error, ['UNAUTHORIZED', 'NEEDS_RECONNECT'])
      const failed = results.filter(({ error }) => error)
      assert.ok(failed.length === 0 || failed.length === results.length, `only ${failed[0]?.what} was not renewed`)
      await worksAgain(provider, failed.length === 0)
    },
  },
  {
    name: 'faults: a rate limit rejects with RATE_LIMITED and retryAfterMs, and changes nothing',
    needs: needs('rateLimit'),
    async run(provider, { faults }) {
      await put(provider, 'folder/file', 'content')
      const results = await during(faults?.rateLimit?.(provider, { retryAfterMs }), () => everyCall(provider))
      for (const { what, error } of results) {
        assertCode(what, error, ['RATE_LIMITED'])
        const { retryAfterMs: actual } = error as { retryAfterMs?: unknown }
        // Retry-After is in whole seconds, and part of that time may have passed.
        const isClose = typeof actual === 'number' && actual > 0 && actual <= retryAfterMs + second
        assert.ok(isClose, `${what}: retryAfterMs is ${actual}, but the back end sent ${retryAfterMs}`)
      }
      await worksAgain(provider, false)
    },
  },
  {
    name: 'faults: a back end that is down rejects with UNAVAILABLE, and changes nothing',
    needs: needs('unavailable'),
    async run(provider, { faults }) {
      await put(provider, 'folder/file', 'content')
      const results = await during(faults?.unavailable?.(provider), () => everyCall(provider))
      for (const { what, error } of results) assertCode(what, error, ['UNAVAILABLE'])
      await worksAgain(provider, false)
    },
  },
  {
    name: 'faults: an abort ends the wait between retries',
    needs: (provider, harness) => {
      const lacking = (['rateLimit', 'unavailable'] as const).map(fault => needs(fault)(provider, harness))
      return lacking.includes(undefined) ? undefined : lacking[0]
    },
    async run(provider, { faults }) {
      await put(provider, 'file', 'content')
      const started = faults?.rateLimit?.(provider, { retryAfterMs: 60 * second }) ?? faults?.unavailable?.(provider)
      const reason = new Error('the client went away')
      const outcome = await during(started, async () => {
        const options = { signal: AbortSignal.timeout(100) }
        const controller = new AbortController()
        options.signal.addEventListener('abort', () => controller.abort(reason))
        const calls = [
          provider.stat(at('file'), { signal: controller.signal }),
          provider.write(at('new'), bodyOf('no'), { signal: controller.signal, overwrite: false }),
        ]
        return Promise.allSettled(calls)
      })
      for (const result of outcome) {
        assert.equal(result.status, 'rejected')
        // An adapter that does not retry rejects at once.
        if (result.reason === reason) continue
        assertCode('a call', result.reason, ['RATE_LIMITED', 'UNAVAILABLE'])
      }
      assert.deepEqual(await namesIn(provider, ''), ['file'])
    },
  },
]

interface Outcome {
  what: string
  error: unknown
}

/** Makes one call of each kind, concurrently, on the file of `put(provider, 'folder/file', 'content')`. */
async function everyCall(provider: StorageProvider): Promise<Outcome[]> {
  const body = bodyOf('new')
  const calls: Record<string, Promise<unknown> | undefined> = {
    stat: provider.stat(at('folder/file'), call()),
    'stat of a missing path': isNotFound(provider.stat(at('missing'), call())),
    list: listAll(provider, 'folder'),
    read: get(provider, 'folder/file'),
    write: provider.write(at('new'), body, { ...call(), overwrite: true }),
    mkdir: makeFolder(provider, 'made'),
    'delete of a missing path': provider.delete(at('missing'), call()),
    quota: provider.quota?.(call()),
  }
  const started = Object.entries(calls).filter(([, promise]) => promise !== undefined)
  const results = await Promise.allSettled(started.map(([, promise]) => promise))
  assert.ok(body.destroyed, 'the body of the write was not destroyed')
  return started.map(([what], i) => {
    const result = results[i]
    return { what, error: result?.status === 'rejected' ? result.reason : null }
  })
}

/** Resolves for NOT_FOUND, which shows that the back end works. */
async function isNotFound(stat: Promise<unknown>): Promise<void> {
  try {
    await stat
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'NOT_FOUND')) throw error
  }
}

async function during<T>(started: Promise<Undo> | undefined, work: () => Promise<T>): Promise<T> {
  const undo = await started
  try {
    return await work()
  } finally {
    await undo?.()
  }
}

function assertCode(what: string, error: unknown, codes: readonly string[]): void {
  assert.ok(error instanceof Error, `${what} did not fail`)
  const code = 'code' in error ? String(error.code) : error.stack
  assert.ok(
    codes.includes(code ?? ''),
    `${what} rejected with ${code} (${error.message}) instead of ${codes.join(', ')}`,
  )
  assert.equal(error.name, 'StorageError')
}

async function worksAgain(provider: StorageProvider, written: boolean): Promise<void> {
  await has(provider, 'folder/file', 'content')
  const made = (await namesIn(provider, '')).filter(name => name !== 'made')
  assert.deepEqual(made, written ? ['folder', 'new'] : ['folder'], 'a failed call changed something')
  await put(provider, 'later', 'works')
  await has(provider, 'later', 'works')
}
