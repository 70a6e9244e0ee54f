/**
 * Uses the server as somebody would who has nothing to do with an attack: asks for `/healthz` every 20 ms and signs in
 * now and then. `node bystander.ts <url> <email> <password> <logins> <milliseconds>`; begins with the first byte on stdin and
 * prints what it saw as JSON. It asks once before that: the first request of a process also loads the code of a client.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { addresses, client, login } from './clients.ts'

export interface Seen {
  /** Milliseconds that `/healthz` took, of each request. */
  health: number[]
  /** Requests for `/healthz` that were not answered with 200. */
  unhealthy: number
  signIns: number
}

/** Milliseconds until somebody believes that they cannot sign in. */
const signInTimeout = 15_000

const [url = '', email = '', password = '', logins = '', duration = ''] = process.argv.slice(2)
const never = new AbortController().signal
const bystander = client(url, addresses.bystander, 1, never)
await bystander.send({ path: '/healthz' })
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdin.unref()
const end = performance.now() + Number(duration)

async function watchHealth(): Promise<Pick<Seen, 'health' | 'unhealthy'>> {
  const health: number[] = []
  let unhealthy = 0
  while (performance.now() < end) {
    const from = performance.now()
    const status = await bystander.send({ path: '/healthz' }).catch(() => 0)
    health.push(performance.now() - from)
    if (status !== 200) unhealthy += 1
    await sleep(20)
  }
  return { health, unhealthy }
}

async function signIn(index: number): Promise<boolean> {
  await sleep((Number(duration) / Number(logins)) * index)
  const { read } = client(url, addresses.owner, 1, AbortSignal.timeout(signInTimeout))
  const answer = await read(login(email, password)).catch(() => '')
  return answer.includes('"token":"')
}

const [health, ...signIns] = await Promise.all([
  watchHealth(),
  ...Array.from({ length: Number(logins) }, (_, index) => signIn(index)),
])
const seen: Seen = { ...health, signIns: signIns.filter(Boolean).length }
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit())
