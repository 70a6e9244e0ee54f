/** Measures how a server serves others during an attack. */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AttackName } from './attacks.ts'
import type { Seen } from './bystander.ts'
import type { Server } from './target.ts'

export interface Measured {
  /** The slowest request for `/healthz` in milliseconds. */
  slowest: number
  /**
   * The slowest one without the time in which the server or the client had no processor. Other load on the machine hardly
   * changes it.
   */
  slowestServed: number
  /** The median request for `/healthz` in milliseconds. */
  median: number
  /** The number of failed requests for `/healthz`. */
  unhealthy: number
  /** The number of successful sign-ins, of `signInsTried`. */
  signIns: number
  /** The peak growth of the server's resident memory in bytes. */
  growth: number
}

/** The number of sign-ins of the owner during a measurement. */
export const signInsTried = 20
/** Milliseconds between two samples of the memory size. */
const sampleTime = 100
/**
 * @param milliseconds the time of the measurement
 * @param leadTime milliseconds that the attack runs before the measurement
 */
export async function measure(
  server: Server,
  attack: AttackName,
  milliseconds: number,
  leadTime = 1000,
): Promise<Measured> {
  const attacker = start('attacker.ts', [attack, JSON.stringify(server.target)])
  const { url, password } = server.target
  const bystander = start('bystander.ts', [
    url,
    String(server.pid),
    server.owner,
    password,
    String(signInsTried),
    String(milliseconds),
  ])
  let sampling: NodeJS.Timeout | undefined
  try {
    const seen = lines(bystander)
    if ((await lines(attacker).next()).done) throw new Error(`The attack "${attack}" could not be prepared`)
    if ((await seen.next()).done) throw new Error('The server does not respond')
    const before = await resident(server.pid)
    let highest = before
    sampling = setInterval(() => {
      void resident(server.pid).then(now => (highest = Math.max(highest, now)))
    }, sampleTime)
    attacker.stdin.write('\n')
    await sleep(leadTime)
    bystander.stdin.write('\n')
    const { health, served, unhealthy, signIns }: Seen = JSON.parse((await seen.next()).value)
    if (attacker.exitCode !== null) throw new Error(`The attack "${attack}" exited early`)
    return { ...times(health), slowestServed: Math.max(...served), unhealthy, signIns, growth: highest - before }
  } finally {
    clearInterval(sampling)
    attacker.kill('SIGKILL')
    bystander.kill('SIGKILL')
  }
}

function lines({ stdout }: { stdout: Readable }): AsyncIterator<string> {
  return createInterface(stdout)[Symbol.asyncIterator]()
}

function times(health: readonly number[]): Pick<Measured, 'slowest' | 'median'> {
  const sorted = health.toSorted((a, b) => a - b)
  const none = Number.POSITIVE_INFINITY
  return { slowest: sorted.at(-1) ?? none, median: sorted[Math.floor(sorted.length / 2)] ?? none }
}

function start(script: string, args: string[]) {
  const path = new URL(script, import.meta.url).pathname
  // Remove tap's hooks from the environment, which every Node process would load.
  const { NODE_OPTIONS: _, ...env } = process.env
  return spawn(process.execPath, [path, ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Returns the resident memory of a process in bytes. */
async function resident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}
