/** The arguments of `stowage adapter test`. */
import { parseArgs } from 'node:util'
import type { Faults, Harness } from '../../../adapters/conformance/index.ts'

export interface AdapterTestRequest {
  /** A type that the server knows, a package, or the path of a module that begins with "." or "/". */
  adapter: string
  /** A JSON file. */
  configFile: string
  /** Part of the names of the cases to run; null for all. */
  only: string | null
  /** The SVG file for the badge. */
  badgeFile: string | null
  /** The properties of the back end that the kit cannot find out. */
  properties: Pick<Harness, 'foldsCase' | 'hasCreateRaces' | 'manyEntries' | 'refuses'>
  /** Whether the back end outlives a provider, so that a second one finds the same content. */
  canReopen: boolean
  /** The property of the configuration that names a folder of the back end; null if none does. */
  folderProperty: string | null
  /** The faults to simulate. */
  faults: readonly (keyof Faults)[]
}

const allFaults: readonly (keyof Faults)[] = ['expireCredentials', 'rateLimit', 'unavailable']

/** The fewest entries of the longest listings that the kit accepts. */
const minEntries = 100

/** Returns null if the arguments are wrong. */
export function parseAdapterTest(args: readonly string[]): AdapterTestRequest | null {
  const parsed = parse(args)
  if (!parsed) return null
  const { values, positionals } = parsed
  const [adapter, ...more] = positionals
  const entries = values.entries === undefined ? undefined : Number(values.entries)
  if (adapter === undefined || more.length > 0 || values.config === undefined) return null
  if (entries !== undefined && !(Number.isSafeInteger(entries) && entries >= minEntries)) return null
  const faults = (values.faults?.split(',') ?? []) as (keyof Faults)[]
  if (!faults.every(fault => allFaults.includes(fault))) return null
  const refused = values.refuses === undefined ? null : finderOf(values.refuses)
  if (refused === undefined) return null
  return {
    adapter,
    configFile: values.config,
    only: values.only ?? null,
    badgeFile: values.badge ?? null,
    properties: {
      foldsCase: values['folds-case'] ?? false,
      hasCreateRaces: values['create-races'] ?? false,
      ...(entries !== undefined && { manyEntries: entries }),
      ...(refused && { refuses: refused }),
    },
    canReopen: !values['no-reopen'],
    folderProperty: values.folder ?? null,
    faults,
  }
}

/** Returns the function that finds a pattern in a name; undefined for a text that is not a regular expression. */
function finderOf(pattern: string): ((name: string) => boolean) | undefined {
  const find = (name: string) => name.search(pattern) >= 0
  try {
    find('')
    return find
  } catch {
    return undefined
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        config: { type: 'string' },
        only: { type: 'string' },
        badge: { type: 'string' },
        entries: { type: 'string' },
        'folds-case': { type: 'boolean' },
        'create-races': { type: 'boolean' },
        refuses: { type: 'string' },
        'no-reopen': { type: 'boolean' },
        folder: { type: 'string' },
        faults: { type: 'string' },
      },
    })
  } catch {
    return null
  }
}
