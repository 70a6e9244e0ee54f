/** The declaration of a command. The help, the completion and the documentation are generated from it. */
import type { Context } from './context.ts'

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
