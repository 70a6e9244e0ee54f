/** Every endpoint says that another program uses an entry, and that the request can succeed later. */
import { Readable } from 'node:stream'
import t from 'tap'
import { StorageError, type StoragePath } from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { toolCall, toolOutcome } from '../support/mcp.ts'
import { tusPath } from './tus.ts'

const message = 'Another computer has the file open: close it there, or try again later.'

t.test('an entry that is in use', async t => {
  const faults = faultyAdapter()
  const app = await startApp(t, { adapters: [faults] })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'faulty', { name: 'files' })
  const { key } = await app.createKey(token, { name: 'writer', scopes: ['write'] })
  const slug = 'shared'
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { slug } }'
  await app.ask(update, { input: { id: providerId, slug } }, token)
  faults.before = ({ method, path }) => {
    const isChange = ['write', 'read', 'delete', 'mkdir'].includes(method) || method.startsWith('open')
    if (isChange && path.startsWith('open')) throw new StorageError('IN_USE', message)
  }
  const { signal } = new AbortController()
  const body = Readable.from([Buffer.from('old')])
  await faults.files('files').write('open.txt' as StoragePath, body, { signal, overwrite: false })

  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${app.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, ...init.headers },
    })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  const at = `providerId=${providerId}&path=%2Fopen.txt`
  const octets = { 'content-type': 'application/octet-stream' }
  const rest = [
    await send(`/api/download/proxy?${at}`),
    await send(`/api/upload/proxy?${at}&conflict=replace`, { method: 'POST', headers: octets, body: 'new' }),
    await send(tusPath, {
      method: 'POST',
      headers: {
        'tus-resumable': '1.0.0',
        'upload-length': '3',
        'upload-metadata': `providerId ${btoa(providerId)},path ${btoa('/open.txt')},conflict ${btoa('replace')}`,
        'content-type': 'application/offset+octet-stream',
      },
      body: 'new',
    }),
  ]
  for (const { status, text } of rest) {
    t.equal(status, 423)
    t.match(JSON.parse(text), { errors: [{ message, extensions: { reason: 'IN_USE', retryable: true } }] })
  }

  for (const [method, init] of [
    ['PUT', { body: 'new' }],
    ['GET', {}],
    ['DELETE', {}],
  ] as const) {
    const dav = await send(`/dav/${slug}/open.txt`, { method, ...init })
    t.match(dav, { status: 423, text: /IN_USE/ }, `${method} of WebDAV`)
    const s3 = await send(`/s3/${slug}/open.txt`, { method, ...init })
    t.match(s3, { status: 409, text: /<Code>OperationAborted<\/Code>.*<Reason>IN_USE<\/Reason>/ }, `${method} of S3`)
  }

  const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
  const { errors } = await app.graphql(remove, { input: { providerId, path: '/open.txt' } }, key)
  t.match(errors, [{ message, extensions: { code: 'BAD_USER_INPUT', reason: 'IN_USE', retryable: true } }])

  const call = toolCall('write_file', { providerId, path: '/open.txt', content: 'new', conflict: 'REPLACE' })
  const written = await send(call.path, call)
  t.match(toolOutcome(written.status, written.text).errors, [{ extensions: { reason: 'IN_USE' } }])
})
