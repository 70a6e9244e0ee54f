/** The table in docs/back-ends.md, which the conformance tests make. */
import { readFile, writeFile } from 'node:fs/promises'
import type { StorageProvider } from '../../adapters/contract.ts'

const page = new URL('../../docs/back-ends.md', import.meta.url)

/** Returns the row that a type must have. */
export function rowOf(type: string, provider: StorageProvider, cases: { passed: number; total: number }): string {
  const native = (feature: unknown) => (feature === undefined ? 'by Stowage' : 'native')
  const has = (feature: unknown) => (feature ? 'yes' : 'no')
  const cells = [
    `\`${type}\``,
    native(provider.copy),
    native(provider.move),
    native(provider.deleteTree),
    native(provider.resumable),
    has(provider.presign),
    has(provider.quota),
    has(provider.traits.keepsModifiedAt),
    has(provider.changes),
    `${cases.passed} (${cases.total - cases.passed} do not apply)`,
  ]
  return `| ${cells.join(' | ')} |`
}

/** Returns a row without its last cell, which counts the cases. */
export function withoutCases(row = ''): string {
  return row.split(' | ').slice(0, -1).join(' | ')
}

/** Returns the row of a type in the page; undefined if there is none. */
export async function documentedRow(type: string): Promise<string | undefined> {
  const lines = (await readFile(page, 'utf8')).split('\n')
  return lines.find(line => line.startsWith(`| \`${type}\` |`))
}

/** Replaces the row of a type, or adds it. */
export async function documentRow(type: string, row: string): Promise<void> {
  const text = await readFile(page, 'utf8')
  const known = await documentedRow(type)
  const end = '<!-- end -->'
  await writeFile(page, known ? text.replace(known, row) : text.replace(end, `${row}\n${end}`))
}
