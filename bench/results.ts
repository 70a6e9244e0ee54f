/** Writes the last results of each part to `RESULTS.md`. */
import { readFile, writeFile } from 'node:fs/promises'
import { cpus, loadavg, totalmem } from 'node:os'
import type { Part } from './part.ts'
import { type Row, table } from './table.ts'

const file = new URL('RESULTS.md', import.meta.url)
const heading = `# Results

\`npm run bench\` writes this file and keeps the last result of each part. Ratios compare servers that were measured in turn in
one run on one machine; absolute figures say little about another machine. Optimizations that were tried are in
[NOTES.md](NOTES.md).
`

/** @param loadBefore shows whether other programs were running before */
export function machine(): string {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / 1024 ** 3)
  return `${cpus().length} x ${cpu?.model.trim()}, ${memory} GiB, Linux, Node ${process.version}`
}

export function section(part: Part, rows: readonly Row[], rounds: number, loadBefore: number): string {
  const when = `${new Date().toISOString().slice(0, 10)}, ${rounds} rounds, load ${loadBefore.toFixed(1)} before the run`
  return `## ${part.title}\n\n${part.about}\n\n${machine()}. ${when}.\n\n${table(rows)}\n`
}

export function load(): number {
  return loadavg()[0] ?? 0
}

/** Replaces the results of these parts and keeps the others. */
export async function keepResults(sections: ReadonlyMap<string, string>, order: readonly string[]): Promise<void> {
  const before = await readFile(file, 'utf8').catch(() => '')
  const all = new Map<string, string>()
  for (const text of before.split(/^(?=## )/m).slice(1)) {
    all.set(text.slice(3, text.indexOf('\n')), `${text.trimEnd()}\n`)
  }
  for (const [title, text] of sections) all.set(title, text)
  const kept = order.flatMap(title => all.get(title) ?? [])
  await writeFile(file, [heading, ...kept].join('\n'))
}
