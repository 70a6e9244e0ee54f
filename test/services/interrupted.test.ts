/** Changes between two steps of an operation: other clients write, credentials end, clients disconnect. */
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { pageQuery, providerClient } from './transfers.ts'

const count = 300
const content = 'A'.repeat(1000)

t.test('changes between two steps', async t => {
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  const local = providerClient(app, owner.token, await app.connectProvider(owner.token, 'local', { root: app.folder }))
  const memory = providerClient(app, owner.token, await app.connectProvider(owner.token, 'memory', {}))
  /** Fills a folder, which takes four seconds to copy while `slow` limits the provider. */
  const fill = async (folder: string) => {
    await mkdir(join(app.folder, folder))
    for (let index = 0; index < count; index++) await writeFile(join(app.folder, folder, `f${index}`), content)
  }
  const slow = async (bytesPerSecond: number | null) => {
    const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
    await app.ask(update, { input: { id: local.providerId, jobLimits: { bytesPerSecond } } }, owner.token)
  }
  const mutate = (name: 'copy' | 'move', input: object, signal: AbortSignal) =>
    app
      .request('/graphql', {
        method: 'POST',
        token: owner.token,
        signal,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          query: `mutation ($input: ${name === 'copy' ? 'CopyInput' : 'MoveInput'}!) { ${name}(input: $input) { path } }`,
          variables: { input },
        }),
      })
      .catch(() => null)

  await atNight(t, 'a copy of a folder goes on after its client has left, and is found in the jobs', async t => {
    await fill('many')
    await slow(65_536)
    const stop = new AbortController()
    const copying = mutate('copy', { providerId: local.providerId, path: '/many', toPath: '/copied' }, stop.signal)
    await until(async () => (await readdir(join(app.folder, 'copied')).catch(() => [])).length >= 20)
    stop.abort()
    await copying
    await slow(null)
    const query = '{ jobs { nodes { id kind state progress { files } sources { path } target { path } } } }'
    await until(async () => {
      const [job] = (await app.ask(query, {}, owner.token)).jobs.nodes
      return job?.state === 'SUCCEEDED' || job
    })
    const { jobs } = await app.ask(query, {}, owner.token)
    t.match(jobs.nodes, [
      { kind: 'COPY', progress: { files: count }, sources: [{ path: '/many' }], target: { path: '/copied' } },
    ])
    t.equal((await readdir(join(app.folder, 'copied'))).length, count)
    await app.app.services.audit.flush()
    const events = '{ auditEvents(filter: { result: "CUT" }) { nodes { action path subjectKind subjectId } } }'
    t.match((await app.ask(events, {}, owner.token)).auditEvents.nodes, [
      { action: 'COPY', path: '/many', subjectKind: 'JOB', subjectId: jobs.nodes[0].id },
    ])
  })

  await atNight(t, 'a copy that fails is undone, except for the files that others stored in its target', async t => {
    await fill('failing')
    await slow(65_536)
    const input = { providerId: local.providerId, path: '/failing', toPath: '/undone' }
    const copying = mutate('copy', input, new AbortController().signal)
    await until(async () => (await readdir(join(app.folder, 'undone')).catch(() => [])).length >= 20)
    await local.put('/undone/mine.txt', 'mine')
    await rm(join(app.folder, 'failing'), { recursive: true })
    const { errors } = (await (await copying)?.json()) ?? {}
    t.match(errors, [{ extensions: { reason: 'NOT_FOUND', jobId: /-/ } }])
    t.same(await readdir(join(app.folder, 'undone')), ['mine.txt'])
    t.equal(await local.get('/undone/mine.txt'), 'mine')
  })

  await t.test(
    'a move does not delete a source that was replaced meanwhile, even with the same size and time',
    async t => {
      await fill('moving')
      await slow(65_536)
      const moving = mutate(
        'move',
        { providerId: local.providerId, path: '/moving', toProviderId: memory.providerId, toPath: '/moving' },
        new AbortController().signal,
      )
      await until(async () => (await memory.get('/moving/f0')) !== null, { every: 1 })
      const file = join(app.folder, 'moving', 'f0')
      const { mtime } = await stat(file)
      const replaced = content.replaceAll('A', 'B')
      await writeFile(file, replaced)
      await utimes(file, mtime, mtime)
      await slow(null)
      const response = await moving
      const { errors } = response ? await response.json() : { errors: 'no response' }
      t.match(errors, [{ extensions: { reason: 'PRECONDITION_FAILED' } }], 'the source was replaced during the move')
      t.equal(await readFile(file, 'utf8').catch(() => null), replaced)
    },
  )

  await atNight(t, 'an existing target folder stays when the copy into it fails', async t => {
    await mkdir(join(app.folder, 'taken'))
    await slow(65_536)
    const input = { providerId: local.providerId, path: '/many', toPath: '/taken', conflict: 'REPLACE' }
    const copying = mutate('copy', input, new AbortController().signal)
    await until(async () => (await readdir(join(app.folder, 'taken'))).length >= 20)
    await rm(join(app.folder, 'many'), { recursive: true })
    const { errors } = (await (await copying)?.json()) ?? {}
    t.match(errors, [{ extensions: { reason: 'NOT_FOUND' } }])
    t.same(await readdir(join(app.folder, 'taken')), [])
  })

  await t.test('paging skips no entry when earlier ones are deleted', async t => {
    for (const where of [local, memory]) {
      for (const name of 'abcdefgh') await where.put(`/letters/${name}`, '')
      const list = async (first: number, after?: string) => {
        const variables = { providerId: where.providerId, path: '/letters', first, after }
        return (await app.ask(pageQuery, variables, owner.token)).folder.entries
      }
      const cursor = (await list(5)).edges[2].cursor
      for (const name of 'abc') await where.run('delete', { path: `/letters/${name}` })
      const names = (await list(5, cursor)).nodes.map((node: { name: string }) => node.name)
      t.same(names, ['d', 'e', 'f', 'g', 'h'])
    }
  })

  await t.test('a key that is revoked while its request body arrives changes nothing', async t => {
    const { key, id } = await app.createKey(owner.token, { name: 'slow', scopes: ['admin'] })
    const body = JSON.stringify({ query: 'mutation { createInvite(input: { role: OWNER }) { invite } }' })
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    let response = ''
    socket.on('data', chunk => {
      response += chunk
    })
    socket.write(
      `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body.slice(0, 10)}`,
    )
    await sleep(1100)
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, owner.token)
    socket.write(body.slice(10))
    await once(socket, 'close')
    t.match(response, /^HTTP\/1\.1 401 /)
    t.match(response, /KEY_REVOKED/)
  })

  await t.test('an invite ends with the key that created it', async t => {
    const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite expiresAt } }'
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const { key, id } = await app.createKey(owner.token, { name: 'inviter', scopes: ['admin'], expiresAt })
    const late = { role: 'ADMIN', expiresAt: new Date(Date.now() + 7_200_000).toISOString() }
    const refused = await app.graphql(invite, { input: late }, key)
    t.match(refused.errors, [{ extensions: { reason: 'EXCEEDS_OWN_REACH' } }])
    const { createInvite } = await app.ask(invite, { input: { role: 'ADMIN' } }, key)
    t.ok(new Date(createInvite.expiresAt) <= new Date(expiresAt), 'it expires no later than the key')
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, owner.token)
    const { errors } = await app.graphql('mutation ($input: RegisterInput!) { register(input: $input) { token } }', {
      input: { email: 'guest@example.org', password, invite: createInvite.invite },
    })
    t.match(errors, [{ extensions: { code: 'BAD_USER_INPUT', reason: 'INVALID_INVITE' } }])
  })

  await t.test('a flood of sign-ins is refused before it delays others', async t => {
    const login = 'mutation { login(input: { email: "nobody@example.org", password: "a wrong password" }) { token } }'
    const responses = await Promise.all(Array.from({ length: 150 }, () => app.graphql(login)))
    const reasons = Map.groupBy(responses, ({ errors }) => errors[0]?.extensions.reason)
    t.same([...reasons.keys()].toSorted(), ['RATE_LIMITED', 'WRONG_EMAIL_OR_PASSWORD'])
    t.ok(reasons.get('RATE_LIMITED')?.every(({ errors }) => errors[0]?.extensions.retryAfterMs === 5000))
  })

  await t.test('a digest with a form is refused', async t => {
    const form = new FormData()
    form.set('providerId', local.providerId)
    form.set('file', new Blob(['x']), 'x.txt')
    const headers = { 'content-digest': 'sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:' }
    const response = await app.request('/api/upload/proxy', { method: 'POST', token: owner.token, body: form, headers })
    t.equal(response.status, 400)
  })

  await t.test('only those who can fix a provider see what is wrong with it', async t => {
    const root = join(app.folder, 'gone')
    await mkdir(root)
    const providerId = await app.connectProvider(owner.token, 'local', { root }, 'gone')
    await rm(root, { recursive: true })
    await app.ask('mutation ($id: ID!) { testProvider(id: $id) { id } }', { id: providerId }, owner.token)
    const { key } = await app.createKey(owner.token, {
      name: 'reader',
      scopes: ['read'],
      providerAccess: { restrictions: [{ providerId, basePath: '/c' }] },
    })
    const query = 'query ($id: ID!) { provider(id: $id) { status statusReason config quota { total } } }'
    const seen = await app.graphql(query, { id: providerId }, key)
    t.match(seen.data?.provider, { status: 'UNAVAILABLE', statusReason: null, config: {} })
    const download = await (await app.download(key, providerId, '/c/x')).text()
    t.notOk(JSON.stringify(seen).includes(app.folder) || download.includes(app.folder), download)
    const seenByOwner = await app.graphql(query, { id: providerId }, owner.token)
    t.ok(JSON.stringify(seenByOwner).includes('statusReason'))
  })
})
