/** Brings the tables of settings and of errors in README.md up to date: `node scripts/readme-tables.ts`. */
import { readFile, writeFile } from 'node:fs/promises'
import { reasons } from '../src/errors.ts'
import { definitions } from '../src/settings.ts'

const file = new URL('../README.md', import.meta.url)

const settings = Object.entries(definitions).map(([name, { description, default: text, otherwise }]) => {
  return `| \`${name}\` | ${description} | ${text === null ? otherwise : `\`${text}\``} |`
})
const errors = Object.entries(reasons).map(([name, { code, status, meaning }]) => {
  return `| ${code} | \`${name}\` | ${status} | ${meaning} |`
})

/** Replaces all rows below a head. */
function withRows(text: string, head: string, rows: readonly string[]): string {
  const start = text.indexOf(`${head}\n|---`)
  if (start < 0) throw new Error(`README.md has no table with the head ${head}`)
  const end = text.indexOf('\n\n', start)
  const [first, rule] = text.slice(start, end).split('\n')
  return text.slice(0, start) + [first, rule, ...rows].join('\n') + text.slice(end)
}

const before = await readFile(file, 'utf8')
const after = withRows(before, '| Setting | What it is | Default |', settings)
await writeFile(file, withRows(after, '| Code | Reason | HTTP status | Meaning |', errors))
