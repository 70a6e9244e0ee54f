import { parseArgs } from 'node:util'
import { allOptions, type Command } from './command.ts'
import { usageError } from './errors.ts'

export interface ParsedArguments {
  operands: readonly string[]
  options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}

/** Parses the arguments after the name of the command. @throws CommandError if they do not match its declaration */
export function parseArguments(command: Command, args: readonly string[]): ParsedArguments {
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
export function countsOf(operands: string): { min: number; max: number } {
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
