import { allOptions, commonOptions, jsonOption, optionText } from '../../packages/cli/src/command.ts'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { exitCodes } from '../../packages/cli/src/errors.ts'

interface DocsTable {
  /** The first line of the table. */
  head: string
  rows: string[]
}

/** Returns the tables of docs/command-line.md. */
export function commandLineTables(): DocsTable[] {
  const shared = Object.entries({ ...jsonOption, ...commonOptions })
  const sharedNames = new Set(shared.map(([name]) => name))
  return [
    {
      head: '| Command | Description |',
      rows: commands.map(({ name, operands, help }) => row(code(`${name} ${operands}`.trimEnd()), help)),
    },
    {
      head: '| Command | Option | Description |',
      rows: [
        ...commands.flatMap(command =>
          Object.entries(allOptions(command))
            .filter(([name]) => !sharedNames.has(name))
            .map(([name, option]) => row(code(command.name), code(optionText(name, option)), option.help)),
        ),
        ...shared.map(([name, option]) => row('all', code(optionText(name, option)), option.help)),
      ],
    },
    {
      head: '| Command | Object | Fields |',
      rows: commands.flatMap(({ name, json = {} }) =>
        Object.entries(json).map(([kind, fields]) => row(code(name), kind, fields.map(code).join(', '))),
      ),
    },
    {
      head: '| Exit code | Meaning |',
      rows: Object.values(exitCodes).map(({ code: number, meaning }) => row(String(number), meaning)),
    },
  ]
}

const code = (text: string) => `\`${text}\``

function row(...cells: string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
