/** The declaration of a command. The help, the completion and the documentation are generated from it. */
import type { Output } from './output.ts'
import type { Environment } from './private-files.ts'
import type { Server } from './server.ts'

/** The tools that every command gets. */
export interface Context {
  environment: Environment
  /** Aborts when a signal interrupts the command. */
  signal: AbortSignal
  output: Output
  /** Returns the server with the credential of the environment, or else the stored one. @throws CommandError */
  connect(): Promise<Server>
}

export interface Option {
  /** One letter. */
  short?: string
  /** The name of the value in the help. Without it, the option is a switch. */
  value?: string
  /** The only valid values. */
  choices?: readonly string[]
  /** Whether the option can be given several times. */
  isList?: boolean
  help: string
}

export type Options = Readonly<Record<string, Option>>

type ValueOf<O extends Option> = O extends { isList: true }
  ? readonly string[]
  : O extends { choices: readonly (infer Choice)[] }
    ? Choice | undefined
    : O extends { value: string }
      ? string | undefined
      : boolean

export interface Arguments<O extends Options> {
  operands: readonly string[]
  options: { readonly [Name in keyof O]: ValueOf<O[Name]> }
}

interface Declaration<O extends Options> {
  /** One word, or two such as `jobs list`. */
  name: string
  /** The operands as in the usage, such as `<source>... <target>` or `[path]`. The parser reads their numbers from it. */
  operands: string
  /** One sentence. */
  help: string
  options: O
  /** The fields of the JSON objects that the command prints, by kind of object. Without it, there is no `--json`. */
  json?: Readonly<Record<string, readonly string[]>>
  run(context: Context, args: Arguments<O>): Promise<void>
}

export type Command = Declaration<Options>

/** Checks the options that `run` uses against the declared ones. */
export function command<const O extends Options>(declared: Declaration<O>): Command {
  return declared as unknown as Command
}

/** The options that every command has. */
export const commonOptions = {
  help: { short: 'h', help: 'Print the help.' },
  quiet: { short: 'q', help: 'Print no progress and no notes.' },
} satisfies Options

export const jsonOption = { json: { help: 'Print one JSON object per line, also for errors.' } } satisfies Options

/** Returns the options of a command with those that it shares with others. */
export function allOptions({ options, json }: Command): Options {
  return { ...options, ...(json && jsonOption), ...commonOptions }
}

/**
 * Runs a part of a command. Reports a failure instead of throwing it, so that the other parts can continue.
 * @returns whether the part succeeded
 * @throws the reason of the signal
 */
export async function attempt(
  { output, signal }: Pick<Context, 'output' | 'signal'>,
  subject: string,
  work: () => Promise<void>,
): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    signal.throwIfAborted()
    output.failure(error, subject)
    return false
  }
}

function usageOf({ name, operands }: Command): string {
  return ['stowage', name, '[options]', operands].filter(part => part !== '').join(' ')
}

/** Returns an option as a person writes it: `-c, --conflict <behavior>`. */
export function optionText(name: string, { short, value }: Option): string {
  const long = value === undefined ? `--${name}` : `--${name} <${value}>`
  return short === undefined ? long : `-${short}, ${long}`
}

/** Returns the lines of the help. */
export function helpOf(command: Command): string[] {
  const options = Object.entries(allOptions(command)).map(([name, option]): [string, string] => {
    return [optionText(name, option), option.help]
  })
  return [`Usage: ${usageOf(command)}`, '', command.help, '', 'Options:', ...table(options)]
}

/** Lists commands, one in a line. */
export function overviewOf(commands: readonly Command[]): string[] {
  return table(commands.map(({ name, operands, help }): [string, string] => [`${name} ${operands}`.trimEnd(), help]))
}

/** Returns lines with two columns, the second one wrapped. */
function table(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([first]) => first.length))
  return rows.flatMap(([first, second]) => {
    const [start = '', ...rest] = wrap(second, Math.max(30, 96 - width))
    return [`  ${first.padEnd(width)}  ${start}`, ...rest.map(line => `${' '.repeat(width + 4)}${line}`)]
  })
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
