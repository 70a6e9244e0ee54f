/**
 * A client that does not attack: it requests `/healthz` every 20 ms and signs in from time to time.
 * `node bystander.ts <url> <pid of the server> <email> <password> <logins> <milliseconds>` starts with the first byte on stdin and prints its
 * measurements as JSON. It sends one request before that, because the first request of a process also loads code.
 */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { addresses, client, login } from './clients.ts'

export interface Seen {
  /** The duration of each request for `/healthz` in milliseconds. */
  health: number[]
  /** The same without the time in which the server or this client was ready to run and had no processor. */
  served: number[]
  /** The number of requests for `/healthz` that did not return 200. */
  unhealthy: number
  signIns: number
}

/**
 * Milliseconds after which a sign-in counts as failed. Its password check takes turns with those of the attacker, whose
 * requests also use the processor: on a busy machine, the last of the sign-ins takes half a minute.
 */
const signInTimeout = 60_000
/**
 * The number of concurrent sign-ins. More than ten at once would exceed the limit of one account from one address, which
 * also counts those that have not ended.
 */
const signInsAtOnce = 5

const [url = '', pid = '', email = '', password = '', logins = '', duration = ''] = process.argv.slice(2)
const never = new AbortController().signal
const bystander = client(url, addresses.bystander, 1, never)
await bystander.send({ path: '/healthz' })
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdin.unref()
const end = performance.now() + Number(duration)

/**
 * Returns the milliseconds that the main thread of a process has waited for a processor (sched-stats.rst in Linux), or 0 if the
 * kernel does not count them.
 */
function waited(process: string): number {
  const path = `/proc/${process}/schedstat`
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split(' ')[1]) / 1e6 : 0
}

async function watchHealth(): Promise<Pick<Seen, 'health' | 'served' | 'unhealthy'>> {
  const health: number[] = []
  const served: number[] = []
  let unhealthy = 0
  while (performance.now() < end) {
    const before = waited(pid) + waited('self')
    const from = performance.now()
    const status = await bystander.send({ path: '/healthz' }).catch(() => 0)
    const time = performance.now() - from
    health.push(time)
    served.push(time - (waited(pid) + waited('self') - before))
    if (status !== 200) unhealthy += 1
    await sleep(20)
  }
  return { health, served, unhealthy }
}

async function signIn(): Promise<boolean> {
  const { read } = client(url, addresses.owner, 1, AbortSignal.timeout(signInTimeout))
  const response = await read(login(email, password)).catch(() => '')
  return response.includes('"token":"')
}

/** Signs in from time to time, later if earlier sign-ins have not ended. Returns the number of successes. */
async function signInRepeatedly(): Promise<number> {
  const begin = performance.now()
  let [tried, signedIn] = [0, 0]
  const takeTurns = async () => {
    while (tried < Number(logins)) {
      const due = begin + (Number(duration) / Number(logins)) * tried
      tried += 1
      await sleep(Math.max(0, due - performance.now()))
      if (await signIn()) signedIn += 1
    }
  }
  await Promise.all(Array.from({ length: signInsAtOnce }, takeTurns))
  return signedIn
}

const [health, signIns] = await Promise.all([watchHealth(), signInRepeatedly()])
const seen: Seen = { ...health, signIns }
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit())
