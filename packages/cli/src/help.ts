/** The help texts, made from the declarations of the commands. */
import { allOptions, type Command, type Option } from './command.ts'

export function usageOf({ name, operands }: Command): string {
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
