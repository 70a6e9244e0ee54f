/**
 * Rights in memory while processes are paused and killed: three servers on one PostgreSQL, requests on all of them at all times,
 * and changes of rights by any of them. A request that begins when a change has returned must be decided by the new rights.
 */
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { databaseSettings } from '../../servers/postgres.ts'
import { type Client, client, password } from '../../support/client.ts'
import { type Program, startProgram, temporaryFolder } from '../../support/program.ts'
import { randomNumbers } from '../../support/random.ts'

const changesCount = Number(process.env.RIGHTS_CHANGES) || 10_000
/** Servers beside the first one. */
const others = 2
/** Changes that run at the same time. */
const atOnce = 8
/** Milliseconds that a server is paused, at most: longer than a lease. */
const longestPause = 2500

/** A credential that works, and the change that ends what it may do. */
interface Case {
  isAllowed(api: Client): Promise<boolean>
  change(api: Client): Promise<unknown>
}

t.test(`${changesCount} changes of rights hold at once on all servers`, { timeout: 0 }, async t => {
  const folder = await temporaryFolder(t)
  const root = join(folder, 'files')
  await mkdir(root)
  const environment = {
    ...(await databaseSettings(t)),
    STOWAGE_DATA: join(folder, 'data'),
    STOWAGE_LOCAL_ROOTS: root,
    STOWAGE_RATE_LIMIT: '0',
    STOWAGE_SIGN_IN_LIMIT: '0',
    LOG_LEVEL: 'warn',
    PORT: '0',
  }
  const launch = () => startProgram(t, { environment })
  const first = await launch()
  const programs: Program[] = [first, ...(await Promise.all(Array.from({ length: others }, launch)))]
  const random = randomNumbers(Number(process.env.SEED) || 29)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const { token: owner } = await client(first.url).register('owner@example.org')
  const providerId = await client(first.url).connectProvider(owner, 'local', { root })
  await client(first.url).upload(owner, providerId, '/file', 'content')

  const cases = makeCases(owner, providerId)
  const stop = new AbortController()
  let background = 0
  const load = async () => {
    while (!stop.signal.aborted) {
      const { url } = pick(programs)
      await client(url)
        .ask('{ me { id } }', {}, owner)
        .then(() => background++)
        .catch(() => sleep(20))
    }
  }
  const disturb = async () => {
    while (!stop.signal.aborted) {
      await sleep(200 + random() * 1500)
      const index = 1 + Math.floor(random() * others)
      const victim = programs[index]
      if (!victim || stop.signal.aborted) continue
      if (random() < 0.25) {
        await victim.stop('SIGKILL')
        programs[index] = await launch()
      } else {
        victim.process.kill('SIGSTOP')
        await sleep(random() * longestPause)
        victim.process.kill('SIGCONT')
      }
    }
  }
  const running = [...Array.from({ length: 3 }, load), disturb()]

  const late: string[] = []
  const times: number[] = []
  let decided = 0
  let rounds = 0
  const changeOne = async () => {
    const round = rounds++
    const [name, prepare] = pick(Object.entries(cases))
    const { isAllowed, change } = await prepare(client(first.url))
    // The servers keep the right, unless they are paused.
    await Promise.all(programs.flatMap(({ url }) => [1, 2, 3].map(() => attempt(isAllowed(client(url))))))
    const start = performance.now()
    await change(client(first.url))
    times.push(performance.now() - start)
    const answers = await Promise.all(programs.map(({ url }) => attempt(isAllowed(client(url)))))
    for (const answer of answers) {
      if (answer === true) late.push(`round ${round}: ${name}`)
      if (answer !== null) decided++
    }
  }
  const changeAll = async () => {
    while (rounds < changesCount) await changeOne()
  }
  await Promise.all(Array.from({ length: atOnce }, changeAll))
  stop.abort()
  await Promise.all(running)
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0)
  t.comment(
    `${decided} decisions, ${background} requests beside them; a change took ${at(0.5)} ms, 95 % ${at(0.95)} ms`,
  )
  t.same(late, [])
  t.ok(decided > changesCount, `${decided} decisions`)
})

/** Resolves with null if the server was killed meanwhile. */
function attempt(answer: Promise<boolean>): Promise<boolean | null> {
  return answer.catch(error => {
    if (error instanceof TypeError) return null
    throw error
  })
}

function makeCases(owner: string, providerId: string): Record<string, (api: Client) => Promise<Case>> {
  const file = { providerId, path: '/file' }
  const downloads = (token: string) => async (api: Client) => {
    const response = await api.download(token, providerId, file.path)
    await response.arrayBuffer()
    return response.ok
  }
  const ask = (query: string, variables: object) => (api: Client) => api.ask(query, { ...variables }, owner)
  const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { role } }'
  const join = async (api: Client) => {
    const joined = await api.register(`${randomUUID()}@example.org`)
    await ask(update, { input: { userId: joined.id, role: 'EDITOR' } })(api)
    return joined
  }
  return {
    async 'a revoked API key'(api) {
      const { key, id } = await api.createKey(owner, { name: 'key', scopes: ['read'] })
      return { isAllowed: downloads(key), change: ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }) }
    },
    async 'a session that ends'(api) {
      const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
      const { login: session } = await api.ask(login, { input: { email: 'owner@example.org', password } })
      return { isAllowed: downloads(session.token), change: api => api.ask('mutation { logout }', {}, session.token) }
    },
    async 'a lower role'(api) {
      const { token, id } = await join(api)
      return { isAllowed: downloads(token), change: ask(update, { input: { userId: id, role: 'NONE' } }) }
    },
    async 'less access'(api) {
      const { token, id } = await join(api)
      const providerAccess = { restrictions: [{ providerId, basePath: '/elsewhere' }] }
      return { isAllowed: downloads(token), change: ask(update, { input: { userId: id, providerAccess } }) }
    },
    async 'a removed member'(api) {
      const { token, id } = await join(api)
      return { isAllowed: downloads(token), change: ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id }) }
    },
    async 'a revoked share'(api) {
      const create = 'mutation ($input: CreateShareInput!) { createShare(input: $input) { url share { id } } }'
      const { createShare } = await api.ask(create, { input: { ...file, kind: 'VIEW' } }, owner)
      const link = `/api/share/${createShare.url.split('/').at(-1)}/content`
      const isAllowed = async (api: Client) => {
        const response = await api.request(link)
        await response.arrayBuffer()
        return response.ok
      }
      const { id } = createShare.share
      return { isAllowed, change: ask('mutation ($id: ID!) { revokeShare(id: $id) { state } }', { id }) }
    },
  }
}
