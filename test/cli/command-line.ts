/** Runs the command line against a whole server: by night, each command in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { bundle, bundled } from '../support/bundle.ts'
import { isNight } from '../support/extent.ts'
import { runProgram, temporaryFolder } from '../support/program.ts'
import { until } from '../support/until.ts'
import { untilParentEnds } from '../support/until-parent-ends.ts'
import { type Outcome, runInTurn } from './runner.ts'

/** The command line without the server. */
export const cliMain = join(bundle, 'packages/cli/src/main.js')

export interface CommandLine {
  /** The home folder of the person, which is also the working folder. */
  home: string
  environment: Record<string, string>
  run(args: readonly string[], options?: RunOptions): Promise<Outcome>
  /** Runs a command that succeeds, and resolves with its standard output. */
  output(...args: string[]): Promise<string>
  /** Runs a command with `--json` and resolves with what it prints. Checks the fields against those of the documentation. */
  json(...args: string[]): Promise<JsonOutcome>
  /** Starts a command without waiting for its end. */
  start(args: readonly string[]): Running
  /** Starts a command on a terminal, whose width is 80 characters. */
  startOnTerminal(args: readonly string[]): Running
}

interface RunOptions {
  input?: string
  environment?: Record<string, string>
}

interface JsonOutcome {
  status: number | null
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the values
  lines: any[]
  errors: { reason: string; message: string; subject?: string }[]
}

export interface Running {
  process: ChildProcess
  /** Everything that it has printed. */
  printed(): string
  /** Resolves when it has printed the text. */
  hasPrinted(text: string): Promise<void>
  /** Resolves with the exit status; null after a kill. */
  exited: Promise<number | null>
}

/** Returns a command line with a home folder of its own. */
export async function commandLine(t: Test, environment: Record<string, string> = {}): Promise<CommandLine> {
  await bundled()
  const home = await temporaryFolder(t)
  // The cache of compiled modules makes the processes start faster.
  const cache = process.env.NODE_COMPILE_CACHE
  const all = { HOME: home, TERM: 'xterm', ...(cache && { NODE_COMPILE_CACHE: cache }), ...environment }
  const command = (args: readonly string[]) => [process.execPath, cliMain, ...args] as const

  const run: CommandLine['run'] = (args, { input = '', environment: more } = {}) => {
    const context = { environment: { ...all, ...more }, cwd: home, input }
    return isNight ? runProgram({ ...context, command: command(args) }) : runInTurn({ ...context, args })
  }

  function launch(program: string, args: readonly string[]): Running {
    const env = { PATH: process.env.PATH, ...all }
    // Without tap's hooks, which every Node process would load.
    const child = spawn(...untilParentEnds('env', ['-u', 'NODE_OPTIONS', program, ...args]), {
      cwd: home,
      env,
      stdio: 'pipe',
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (printed += chunk))
    const exited = once(child, 'close').then(([status]) => status as number | null)
    t.teardown(() => {
      child.kill('SIGKILL')
      return exited
    })
    return {
      process: child,
      printed: () => printed,
      hasPrinted: wanted => until(() => printed.includes(wanted) || printed),
      exited,
    }
  }

  return {
    home,
    environment: all,
    run,
    async output(...args) {
      const { status, stdout, stderr } = await run(args)
      if (status !== 0) throw new Error(`stowage ${args.join(' ')}: ${status} ${stderr}`)
      return stdout
    },
    async json(...args) {
      const { status, stdout, stderr } = await run([...args, '--json'])
      const parse = (printed: string) => printed.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]))
      const lines = parse(stdout)
      t.same(
        lines.map(line => Object.keys(line)).filter(keys => !isDeclared(args, keys)),
        [],
        args.join(' '),
      )
      return { status, lines, errors: parse(stderr).flatMap(({ error }) => error ?? []) }
    },
    start: args => launch(process.execPath, [cliMain, ...args]),
    startOnTerminal(args) {
      const quoted = command(args).map(word => `'${word}'`)
      return launch('script', [
        '--quiet',
        '--return',
        '--flush',
        '--command',
        `stty cols 80; ${quoted.join(' ')}`,
        '/dev/null',
      ])
    },
  }
}

/** Returns whether the documentation lists exactly these fields for the command. */
function isDeclared(args: readonly string[], keys: readonly string[]): boolean {
  const found = commands.find(({ name }) => name === args.slice(0, name.split(' ').length).join(' '))
  const sorted = keys.toSorted().join()
  return Object.values(found?.json ?? {}).some(fields => fields.toSorted().join() === sorted)
}

export interface World extends CommandLine {
  app: TestApp
  /** The session of the owner. */
  token: string
  /** An admin key without restrictions, with which the command line works. */
  key: string
  /** The ID of the storage "Disk", a local disk. */
  disk: string
  /** The folder of "Disk". */
  diskFolder: string
}

/** Starts a server with the storage "Disk", and returns a command line that is signed in by its environment. */
export async function signedIn(t: Test, options: TestAppOptions = {}): Promise<World> {
  const app = await startApp(t, options)
  const { token } = await app.register('owner@example.org')
  const diskFolder = join(app.folder, 'disk')
  await mkdir(diskFolder)
  const disk = await app.connectProvider(token, 'local', { root: diskFolder }, 'Disk')
  const { key } = await app.createKey(token, { name: 'command line', scopes: ['admin'] })
  const cli = await commandLine(t, { STOWAGE_URL: app.url, STOWAGE_API_KEY: key })
  return { ...cli, app, token, key, disk, diskFolder }
}
