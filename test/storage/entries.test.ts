import t from 'tap'
import { checkPage } from '../../src/storage/validate-entry.ts'
import { badNames } from './violations.ts'

t.test('names that are not valid in a path are omitted, with one warning per page', async t => {
  const entry = { kind: 'file' as const, size: 1, modifiedAt: null, etag: null, mimeType: null }
  const names = ['good', ...badNames, 'better'] as string[]
  const warnings: string[] = []
  const page = checkPage({ entries: names.map(name => ({ ...entry, name })) }, { limit: 100, cursor: null }, message =>
    warnings.push(message),
  )
  t.same(
    page.entries.map(({ name }) => name),
    ['good', 'better'],
  )
  t.same(warnings, [`Omitted from a listing, because their names cannot be part of a path: ${badNames.length}.`])
})
