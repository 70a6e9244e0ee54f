import type { FoundEntry } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { usageError } from '../errors.ts'
import { parseRemote } from '../operand.ts'
import { parseSize, parseTimeFilter } from '../options.ts'

/** The fields of an entry that the command prints. */
const foundFields = ['kind', 'storage', 'path', 'size', 'modifiedAt', 'snippet'] as const
const types = ['image', 'video', 'audio', 'document', 'spreadsheet', 'presentation', 'archive'] as const
/** The marks before and after each hit in a snippet. */
const [hitStart, hitEnd] = ['\u0002', '\u0003']

export const search = command({
  name: 'search',
  operands: '<text> [path]...',
  help: 'Find files and folders by name, and files by text, in all storages or below some paths; the best matches first, then the newest.',
  options: {
    kind: { value: 'kind', choices: ['file', 'folder'], help: 'Find only files, or only folders.' },
    tag: { value: 'tag', help: 'Find only what has this tag.' },
    type: {
      value: 'type',
      choices: types,
      help: 'Find only files that hold this, as the extensions of their names tell.',
    },
    'min-size': { value: 'size', help: 'Find only files of at least this size, such as 10MB.' },
    'max-size': { value: 'size', help: 'Find only files of at most this size.' },
    after: {
      value: 'time',
      help: 'Find only what was changed at this time or later, such as 2h, 3d (ago) or 2027-01-31.',
    },
    before: { value: 'time', help: 'Find only what was changed before this time.' },
    names: { help: 'Do not search in the text of files.' },
    limit: { short: 'n', value: 'number', help: 'Print at most this number of entries. Default: 100.' },
  },
  json: { found: foundFields },
  async run({ output, connect, signal }, { operands: [text = '', ...paths], options }) {
    const limit = parseLimit(options.limit)
    const filters = parseFilters(options)
    const operands = paths.map(parseRemote)
    const server = await connect()
    const within = await Promise.all(operands.map(operand => server.locate(operand)))
    const found = server.stowage.search({
      text,
      ...(within.length > 0 && { within }),
      content: !options.names,
      ...(options.kind !== undefined && { kinds: [options.kind] }),
      ...(options.tag !== undefined && { tag: options.tag }),
      ...(options.type !== undefined && { types: [options.type] }),
      ...filters,
      onCoverage(coverage) {
        for (const { provider, isComplete } of coverage) {
          if (!isComplete) output.note(`The server does not know all entries of the storage "${provider.name}" yet.`)
        }
      },
      signal,
    })
    let count = 0
    for await (const entry of found) {
      const record = foundRecord(entry)
      const path = `${entry.providerName}:${entry.path}${entry.kind === 'folder' ? '/' : ''}`
      await output.result(record, record.snippet === null ? path : `${path}: ${record.snippet}`)
      count += 1
      if (count === limit) return
    }
  },
})

/** @throws CommandError */
function parseFilters(options: Readonly<Record<'min-size' | 'max-size' | 'after' | 'before', string | undefined>>) {
  const { 'min-size': minSize, 'max-size': maxSize, after, before } = options
  const now = new Date()
  return {
    ...(minSize !== undefined && { minSize: parseSize(minSize, 'min-size') }),
    ...(maxSize !== undefined && { maxSize: parseSize(maxSize, 'max-size') }),
    ...(after !== undefined && { modifiedAfter: parseTimeFilter(after, 'after', now) }),
    ...(before !== undefined && { modifiedBefore: parseTimeFilter(before, 'before', now) }),
  }
}

const defaultLimit = 100
const wholeNumber = /^[1-9]\d{0,8}$/

/** @throws CommandError */
function parseLimit(text: string | undefined): number {
  if (text === undefined) return defaultLimit
  if (wholeNumber.test(text)) return Number(text)
  throw usageError('--limit is a number from 1.')
}

function foundRecord({ kind, providerName, path, size, modifiedAt, snippet: marked }: FoundEntry) {
  const snippet = marked?.replaceAll(hitStart, '').replaceAll(hitEnd, '') ?? null
  return { kind, storage: providerName, path, size, modifiedAt, snippet } satisfies Record<
    (typeof foundFields)[number],
    unknown
  >
}
