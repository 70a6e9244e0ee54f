/** Runs Stowage in a separate process, like an operator. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { bundle, bundled } from './bundle.ts'
import { untilParentEnds } from './until-parent-ends.ts'

/** The program as operators run it. */
export const main = join(bundle, 'src/main.js')
/** The program from its sources, for tests that load other sources into it. */
export const mainOfSources = new URL('../../src/main.ts', import.meta.url).pathname

interface ProgramOptions {
  /** The environment of the process, apart from PATH. */
  environment: Record<string, string>
  /** The program and its arguments. The default is the server. */
  command?: readonly [string, ...string[]]
  cwd?: string
  uid?: number
  gid?: number
}

export interface Program {
  process: ChildProcess
  /** The address that the server prints. */
  url: string
  output(): string
  /** Resolves with the exit status, or null after an unhandled signal. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Milliseconds. The first start creates a database, while other tests run on the machine. */
const startTimeout = 60_000

export async function temporaryFolder(t: Pick<Test, 'teardown'>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'stowage-program-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Starts the server and resolves when it is ready. It stops at the latest with the test. */
export async function startProgram(t: Pick<Test, 'teardown'>, options: ProgramOptions): Promise<Program> {
  const child = await launch(options)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return exited
  }
  t.teardown(() => stop())
  const until = Date.now() + startTimeout
  for (;;) {
    const url = /ready at (http\S+)/.exec(output)?.[1]
    if (url) return { process: child, url, output: () => output, stop }
    if (child.exitCode !== null || Date.now() > until) throw new Error(`The server did not start: ${output}`)
    await sleep(20)
  }
}

interface Result {
  status: number | null
  stdout: string
  stderr: string
}

/** Runs a program until it exits. */
export async function runProgram(options: ProgramOptions & { input?: string }): Promise<Result> {
  const child = await launch(options)
  // A program that does not read its input may exit before the input arrives.
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { status, stdout, stderr }
}

/** A new data folder has no compiled modules yet, so each server would spend a second of CPU time on compiling them. */
const { NODE_COMPILE_CACHE } = process.env
const compileCache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }

async function launch({ environment, command = [process.execPath, main], cwd, uid, gid }: ProgramOptions) {
  if (command.some(word => word.includes(bundle))) await bundled()
  // Remove tap's hooks from the environment, which every Node process would load.
  return spawn(...untilParentEnds('env', ['-u', 'NODE_OPTIONS', ...command]), {
    // A kill ends the whole server only if it is one process. Most tests are about deleting itself, without a trash.
    env: {
      PATH: process.env.PATH,
      STOWAGE_PROCESSES: '1',
      STOWAGE_TRASH_DAYS: '0',
      ...compileCache,
      ...environment,
    },
    stdio: 'pipe',
    ...(cwd !== undefined && { cwd }),
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
}
