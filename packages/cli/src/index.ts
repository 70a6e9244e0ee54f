/**
 * The command line. Arguments and the environment enter through `run`, which finds the command in `commands/` and returns the exit
 * code. Requests leave through the client in `server.ts`, and all text leaves through `output.ts` to the writer in `terminal/`.
 * A command that copies compares the folders in `trees/` and carries out the tasks in `transfer/`, or lets the server do it in a job
 * (`jobs/`).
 */
import { parseArgs } from 'node:util'
import { allOptions, type Command, type Context, helpOf, overviewOf } from './command.ts'
import { commands } from './commands/index.ts'
import { findCredentials } from './credentials.ts'
import { describe, exitCodes, Interrupted, usageError } from './errors.ts'
import { Output } from './output.ts'
import type { Environment } from './private-files.ts'
import { Server } from './server.ts'
import { onWriteError, Writer } from './terminal/writer.ts'

/** Returns the list of commands for a help text. */
export function overview(): string {
  return overviewOf(commands)
    .map(line => `${line}\n`)
    .join('')
}

/** Runs a command and resolves with the exit code. @throws an error only if it is a bug */
export async function run(args: readonly string[], environment: Environment): Promise<number> {
  using interruption = listenForSignals()
  const { signal } = interruption
  const wants = (...names: string[]) => beforeOperands(args).some(arg => names.includes(arg))
  const [isJson, isQuiet] = [wants('--json'), wants('--quiet', '-q')]
  const writer = new Writer({ canDraw: environment.TERM !== 'dumb', signal })
  const output = new Output(writer, { isJson, isQuiet })
  const context: Context = {
    environment,
    signal,
    output,
    connect: async () => new Server(await findCredentials(environment), signal),
  }
  try {
    await runCommand(context, args)
    return output.failureCode ?? exitCodes.ok.code
  } catch (error) {
    const cause = signal.aborted ? signal.reason : error
    output.showBar('')
    const { exitCode } = describe(cause)
    // Nobody reads what is written after a pipe has closed.
    if (exitCode !== 141) output.failure(cause)
    return exitCode
  }
}

async function runCommand(context: Context, args: readonly string[]): Promise<void> {
  const [first = ''] = args
  if (['--help', '-h', 'help'].includes(first)) {
    return context.output.print(['Usage: stowage <command> [options] [operands]', '', ...overviewOf(commands)])
  }
  const { command, rest } = findCommand(args)
  if (command === null) return context.output.print(['Usage: stowage <command>', '', ...overviewOf(groupOf(first))])
  const { operands, options } = parseArguments(command, rest)
  if (options.help) return context.output.print(helpOf(command))
  // The options have been parsed with the declaration of this command.
  await command.run(context, { operands, options } as Parameters<Command['run']>[1])
}

/** Returns null for a question about a group such as `jobs --help`. @throws CommandError if there is no such command */
function findCommand(args: readonly string[]): { command: Command | null; rest: readonly string[] } {
  const [first = '', second = ''] = args
  for (const length of [2, 1]) {
    const command = commands.find(({ name }) => name === args.slice(0, length).join(' '))
    if (command) return { command, rest: args.slice(length) }
  }
  const group = groupOf(first)
  if (group.length === 0) {
    throw usageError(
      first === '' ? 'Name a command: see "stowage --help".' : `There is no command "${first}": see "stowage --help".`,
    )
  }
  if (second === '--help' || second === '-h') return { command: null, rest: [] }
  throw usageError(`Name one of these commands: ${group.map(({ name }) => name).join(', ')}.`)
}

function groupOf(word: string): readonly Command[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `))
}

/** Returns the arguments before `--`, after which everything is an operand. */
function beforeOperands(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--')
  return end < 0 ? args : args.slice(0, end)
}

/** Aborts on the first signal, and ends the process on the second one. */
function listenForSignals(): Disposable & { signal: AbortSignal } {
  const controller = new AbortController()
  const onSignal = (name: NodeJS.Signals) => {
    const interrupted = new Interrupted(name === 'SIGTERM' ? 'SIGTERM' : 'SIGINT')
    if (controller.signal.aborted) process.exit(interrupted.exitCode)
    controller.abort(interrupted)
  }
  const onPipeError = (error: NodeJS.ErrnoException) => {
    controller.abort(error.code === 'EPIPE' ? new Interrupted('SIGPIPE') : error)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  onWriteError(onPipeError)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    },
  }
}

interface ParsedArguments {
  operands: readonly string[]
  options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}

/** Parses the arguments after the name of the command. @throws CommandError if they do not match its declaration */
function parseArguments(command: Command, args: readonly string[]): ParsedArguments {
  const declared = Object.entries(allOptions(command))
  const config = declared.map(([name, { short, value, isList }]) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const)
    return [name, { type, multiple: isList === true, ...(short !== undefined && { short }) }] as const
  })
  const { values, positionals: operands } = parse(args, Object.fromEntries(config))
  const options: Record<string, string | boolean | readonly string[] | undefined> = {}
  for (const [name, { value, choices, isList }] of declared) {
    const given = values[name] as string | boolean | string[] | undefined
    options[name] = given ?? (isList ? [] : value === undefined ? false : undefined)
    const wrong = [given ?? []].flat().find(each => choices && !choices.includes(String(each)))
    if (wrong !== undefined) throw usageError(`--${name} must be one of ${choices?.join(', ')}, not "${wrong}".`)
  }
  if (!options.help) requireCount(command, operands)
  return { operands, options }
}

type ParseConfig = Record<string, { type: 'boolean' | 'string'; multiple: boolean; short?: string }>

function parse(args: readonly string[], options: ParseConfig) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    const isUsage = error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
    if (!isUsage) throw error
    const [sentence = ''] = error.message.split('. ')
    throw usageError(`${sentence.replace(/\.$/, '')}.`)
  }
}

/** Returns the number of operands that a usage such as `<source>... <target>` allows. */
function countsOf(operands: string): { min: number; max: number } {
  const words = operands.split(' ').filter(word => word !== '')
  const min = words.filter(word => word.startsWith('<')).length
  return { min, max: words.some(word => word.endsWith('...')) ? Number.POSITIVE_INFINITY : words.length }
}

function requireCount({ name, operands }: Command, given: readonly string[]): void {
  const { min, max } = countsOf(operands)
  if (given.length >= min && given.length <= max) return
  const problem = given.length < min ? 'An operand is missing' : 'There are too many operands'
  throw usageError(`${problem}. Usage: ${['stowage', name, operands].join(' ').trimEnd()}`)
}
