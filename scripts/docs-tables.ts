/** Updates the generated tables in docs/: `node scripts/docs-tables.ts`. */
import { readFile, writeFile } from 'node:fs/promises'
import { reasons } from '../src/errors.ts'
import { definitions } from '../src/settings/definitions.ts'
import { commandLineTables } from './docs-tables/command-line.ts'

const docs = new URL('../docs/', import.meta.url)

const settings = Object.entries(definitions).map(([name, { description, default: text, otherwise }]) => {
  return `| \`${name}\` | ${description} | ${text === null ? otherwise : `\`${text}\``} |`
})
const errors = Object.entries(reasons).map(([name, { code, status, meaning }]) => {
  return `| ${code} | \`${name}\` | ${status} | ${meaning} |`
})

/** Replaces all rows of the table with this header. */
async function writeTable(page: string, head: string, rows: readonly string[]): Promise<void> {
  const file = new URL(page, docs)
  const text = await readFile(file, 'utf8')
  const start = text.indexOf(`${head}\n|---`)
  if (start < 0) throw new Error(`docs/${page} has no table with the header ${head}`)
  const gap = text.indexOf('\n\n', start)
  const end = gap < 0 ? text.trimEnd().length : gap
  const [first, rule] = text.slice(start, end).split('\n')
  await writeFile(file, text.slice(0, start) + [first, rule, ...rows].join('\n') + text.slice(end))
}

await writeTable('configuration.md', '| Setting | Description | Default |', settings)
await writeTable('errors.md', '| Code | Reason | HTTP status | Meaning |', errors)
for (const { head, rows } of commandLineTables()) await writeTable('command-line.md', head, rows)
