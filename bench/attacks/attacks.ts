/** Attacks by strangers, members and administrators that try to keep the server from serving others. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { toolCall } from '../../test/support/mcp.ts'
import { addresses, type Call, type Client, client, graphql, login, socket, upload } from './clients.ts'

export interface Target {
  url: string
  /** The password of the owner. */
  token: string
  password: string
  /** The id of a local provider and its root folder, which contains `small.txt`. */
  local: string
  root: string
  /** The number of files in a large folder. */
  files: number
  /** The number of connections to keep open. */
  connections: number
}

/** Prepares the attack, tries it once, and resolves with a function that runs it until the signal aborts. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<() => Promise<void>>

const connect = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'

export const attacks = {
  'logins with a hostile email': flood(8, [200], () => login(`@${'eyJ'.repeat(345_000)}`, 'x')),
  'hostile paths and ids': flood(8, [200, 404], ({ token }) => [
    { path: `/${'eyJ'.repeat(5000)}` },
    graphql('query ($id: ID!) { apiKey(id: $id) { id } }', { id: 'eyJ'.repeat(300_000) }, token),
  ]),
  // The server refuses those beyond its limit of open calls.
  'tools with large arguments and results': flood(40, [200], ({ token, local: providerId }) =>
    [
      toolCall('write_file', { providerId, path: '/by-tool', content: '"'.repeat(500_000), conflict: 'REPLACE' }),
      toolCall('read_file', { providerId, path: '/by-tool', length: 131_072 }),
      toolCall('search', { providerId, path: '/', name: '"'.repeat(500_000) }, { isEarlier: true }),
    ].map(call => ({ ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } })),
  ),
  'hostile headers': hostileHeaders,
  'ten accounts that sign in eight at a time': manyLogins,
  'large responses for slow readers': largeAnswers,
  'bodies that drip': drippingBodies,
  'archives of a large folder': archives,
  'files in memory': filesInMemory,
} as const satisfies Record<string, Attack>

export type AttackName = keyof typeof attacks
export const attackNames = Object.keys(attacks) as AttackName[]

async function hostileHeaders(target: Target, signal: AbortSignal) {
  const query = 'query ($id: ID!) { file(providerId: $id, path: "/small.txt") { downloadUrl } }'
  const answer = await attacker(target, 1, signal).read(graphql(query, { id: target.local }, target.token))
  const path = JSON.parse(answer).data.file.downloadUrl.slice(target.url.length)
  const spaces = ' '.repeat(14_000)
  return flood(20, [200, 206, 304, 400, 412, 416], () => [
    { path, headers: { 'if-none-match': `"a"${spaces}x` } },
    { path, headers: { 'if-match': `"a"${spaces}x` } },
    { path, headers: { range: `bytes=0-1${spaces}x` } },
    { path, headers: { 'want-repr-digest': `sha-256${spaces}x` } },
  ])(target, signal)
}

async function manyLogins(target: Target, signal: AbortSignal) {
  const { read, send } = attacker(target, 80, signal)
  const { password } = target
  const emails = Array.from({ length: 10 }, (_, index) => `member-${index}@example.org`)
  const register = 'mutation ($input: RegisterInput!) { register(input: $input) { token } }'
  for (const email of emails) await read(graphql(register, { input: { email, password } }))
  const all = emails.flatMap(email => Array(8).fill(email))
  requireStatus(await send(login(all[0], password)), [200])
  return () => untilAborted(signal, all, email => send(login(email, password)))
}

/** Each response contains the long paths of 1,000 files 90 times, which is 340 MB. */
async function largeAnswers(target: Target, signal: AbortSignal) {
  const { token } = target
  const { open, read, send } = attacker(target, 16, signal)
  const config = { maxBytes: 1024 * 1024 }
  const connected = await read(graphql(connect, { input: { type: 'memory', name: 'long paths', config } }, token))
  const { id } = JSON.parse(connected).data.connectProvider.provider
  const path = `/${Array.from({ length: 15 }, (_, index) => String(index % 10).repeat(240)).join('/')}`
  const names = Array.from({ length: 1000 }, (_, index) => `${path}/${index}`)
  await Promise.all(names.map(name => send(upload(token, id, name, 'x'))))
  const aliases = Array.from({ length: 90 }, (_, index) => `a${index}: path`).join(' ')
  const query = `query ($id: ID!, $path: String!) {
    folder(providerId: $id, path: $path) { entries(first: 1000) { nodes { ${aliases} } } } }`
  requireStatus(await send(graphql(query, { id, path }, token)), [200])
  return () =>
    untilAborted(signal, Array(8).fill(null), async () => {
      const response = await open(graphql(query, { id, path }, token))
      for (let seconds = 0; seconds < 10 && !response.complete; seconds += 1) {
        response.read(1000)
        await sleep(1000, undefined, { signal })
      }
      response.destroy()
    })
}

async function drippingBodies({ url, connections }: Target, signal: AbortSignal) {
  const head = ['POST /console/session HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 9000']
  /** Sends a body slowly and resolves when the connection is closed. */
  const drip = async () => {
    const dripping = socket(url, addresses.attacker)
    dripping.on('error', () => {}).resume()
    dripping.write(`${head.join('\r\n')}\r\n\r\n`)
    const more = setInterval(() => dripping.write(' '), 1000)
    const end = () => dripping.destroy()
    signal.addEventListener('abort', end, { once: true })
    await new Promise(resolve => dripping.once('close', resolve))
    signal.removeEventListener('abort', end)
    clearInterval(more)
  }
  return () =>
    untilAborted(signal, [...Array(connections).keys()], async index => {
      // Spread the connections over time. A loop without pauses would only keep the attacker busy.
      await sleep(500 + index / 4, undefined, { signal })
      await drip()
    })
}

async function archives(target: Target, signal: AbortSignal) {
  const folder = join(target.root, 'large')
  await mkdir(folder)
  const names = Array.from({ length: target.files }, (_, index) => join(folder, `file-${index}`)).values()
  const write = async () => {
    for (const name of names) await writeFile(name, 'x')
  }
  await Promise.all(Array.from({ length: 32 }, write))
  return flood(100, [200], ({ token, local }) => ({
    path: `/api/download/proxy?${new URLSearchParams({ providerId: local, path: '/large' })}`,
    headers: { authorization: `Bearer ${token}` },
  }))(target, signal)
}

/** Fills ten providers, each with the highest limit that the server accepts. */
async function filesInMemory(target: Target, signal: AbortSignal) {
  const { token } = target
  const { read, send } = attacker(target, 4, signal)
  const ids: string[] = []
  for (let n = 0; n < 10; n += 1) {
    for (const bits of [53, 40, 34, 32, 31, 30, 29, 28, 27, 26, 25, 24]) {
      const input = { type: 'memory', name: `memory ${n}`, config: { maxBytes: 2 ** bits - 1 } }
      const { data } = JSON.parse(await read(graphql(connect, { input }, token)))
      if (!data) continue
      ids.push(data.connectProvider.provider.id)
      break
    }
  }
  const body = Buffer.alloc(15 * 1024 * 1024, 1)
  requireStatus(await send(upload(token, ids[0] ?? '', '/first', body)), [201])
  let files = 0
  return () =>
    untilAborted(signal, ids, async id => {
      const status = await send(upload(token, id, `/file-${files++}`, body))
      if (status !== 201) await sleep(1000, undefined, { signal })
    })
}

function attacker({ url }: Target, connections: number, signal: AbortSignal): Client {
  return client(url, addresses.attacker, connections, signal)
}

/** Repeats the same calls on many connections. @throws if the first response to a call is unexpected */
function flood(connections: number, expected: readonly number[], calls: (target: Target) => Call | Call[]): Attack {
  return async (target, signal) => {
    const { send } = attacker(target, connections, signal)
    const all = [calls(target)].flat()
    for (const call of all) requireStatus(await send(call), expected)
    const first = Array.from({ length: connections }, (_, index) => index % all.length)
    return () =>
      untilAborted(signal, first, async index => {
        for (const call of [...all.slice(index), ...all.slice(0, index)]) await send(call)
      })
  }
}

function requireStatus(status: number, expected: readonly number[]): void {
  if (!expected.includes(status)) throw new Error(`The server returned ${status} instead of ${expected}`)
}

/** Repeats `work` for every item, all items concurrently. */
async function untilAborted<T>(signal: AbortSignal, items: readonly T[], work: (item: T) => Promise<unknown>) {
  const repeat = async (item: T) => {
    // Pause after a failure, so that the loop does not spin.
    while (!signal.aborted) await work(item).catch(() => sleep(10))
  }
  await Promise.all(items.map(repeat))
}
