/** An upload looks at its path first only where a refusal saves sending the body. */
import t from 'tap'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { type AdapterDefinition, apiVersion } from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'

const mebibyte = 1024 * 1024

/** A memory adapter that records its calls. */
function recordingAdapter(calls: string[]): AdapterDefinition {
  return {
    type: 'recording',
    apiVersion,
    title: 'Recording',
    configSchema: { type: 'object', properties: {} },
    async open(_config, host) {
      const provider = await memoryAdapter.open({ maxBytes: 100 * mebibyte }, host)
      const { stat, write } = provider
      return Object.assign(provider, {
        stat: (...given: Parameters<typeof stat>) => {
          calls.push('stat')
          return stat.apply(provider, given)
        },
        write: (...given: Parameters<typeof write>) => {
          calls.push('write')
          return write.apply(provider, given)
        },
      })
    },
  }
}

t.test('a small upload takes one call, a large one looks first', async t => {
  const calls: string[] = []
  const app = await startApp(t, { adapters: [recordingAdapter(calls)] })
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'recording', {})
  const upload = async (path: string, body: NonNullable<RequestInit['body']>, query?: string) => {
    calls.length = 0
    const response = await app.upload(token, id, path, body, query)
    const { path: stored, errors } = (await response.json()) as { path?: string; errors?: { message: string }[] }
    return { status: response.status, stored, message: errors?.[0]?.message, calls: calls.splice(0) }
  }
  const text = async (path: string) => (await app.download(token, id, path)).text()

  t.match(await upload('/small', 'first'), { status: 201, stored: '/small', calls: ['write'] })
  const taken = await upload('/small', 'second')
  t.match(taken, { status: 409, calls: ['write'] })
  t.match(taken.message, /^"\/small" exists: choose another name/)
  t.equal(await text('/small'), 'first')
  t.match(await upload('/small', 'third', '&conflict=rename'), { status: 201, stored: '/small (1)' })
  t.match(await upload('/small', 'fourth', '&conflict=replace'), { status: 201, stored: '/small', calls: ['write'] })
  t.equal(await text('/small'), 'fourth')

  const large = new Uint8Array(mebibyte + 1)
  t.match(await upload('/large', large), { status: 201, calls: ['stat', 'write'] })
  t.match(await upload('/large', large), { status: 409, calls: ['stat'] })
  const unknown = () => new Blob(['content']).stream()
  t.match(await upload('/unknown', unknown()), { status: 201, calls: ['stat', 'write'] })
  t.match(await upload('/unknown', unknown()), { status: 409, calls: ['stat'] })
})

t.test('of many small uploads to one path, one is stored and the others are refused', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'local', { root: app.folder })
  for (let round = 0; round < 10; round++) {
    const path = `/file ${round}`
    const sent = Array.from({ length: 8 }, (_, i) => app.upload(token, id, path, `content ${i}`))
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    t.same(statuses.sort(), [201, ...Array.from({ length: 7 }, () => 409)])
    const stored = await (await app.download(token, id, path)).text()
    t.match(stored, /^content \d$/)
  }
})
