/**
 * Runs command lines in one process, which loads the program once. Without a terminal and without signals, a command cannot tell
 * this from a process of its own, whose start takes longer than most commands.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { bundle } from '../support/bundle.ts'
import { untilParentEnds } from '../support/until-parent-ends.ts'

export interface Command {
  args: readonly string[]
  environment: Readonly<Record<string, string>>
  cwd: string
  input: string
}

export interface Outcome {
  status: number | null
  stdout: string
  stderr: string
}

let runner: ChildProcess | undefined
let queue: Promise<unknown> = Promise.resolve()

/** Runs a command once all earlier commands have ended. The caller makes the bundle first. */
export function runInTurn(command: Command): Promise<Outcome> {
  const outcome = queue.then(() => send(command))
  queue = outcome.catch(() => {})
  return outcome
}

async function send(command: Command): Promise<Outcome> {
  runner ??= start()
  const { channel } = runner
  const done = new AbortController()
  const ended = once(runner, 'exit', done).then(([status]): never => {
    throw new Error(`stowage ${command.args.join(' ')} has ended its process with ${status}`)
  })
  channel?.ref()
  try {
    runner.send(command)
    const [outcome] = await Promise.race([once(runner, 'message', done), ended])
    return outcome
  } finally {
    ended.catch(() => {})
    done.abort()
    // Between commands, this process can exit.
    channel?.unref()
  }
}

function start(): ChildProcess {
  const main = join(import.meta.dirname, 'runner-process.ts')
  const program = join(bundle, 'packages/cli/src/index.js')
  // Without tap's hooks, which every Node process would load.
  const command = ['-u', 'NODE_OPTIONS', process.execPath, main, program]
  const child = spawn(...untilParentEnds('env', command), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.once('exit', () => (runner = undefined))
  child.unref()
  return child
}
