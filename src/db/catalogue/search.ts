/** Finds entries in the catalogues. The predicate itself excludes everything that the viewer cannot access, as ranges of paths. */
import { type RawBuilder, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import type { Database } from '../client.ts'
import { hasTag } from '../entry-tags.ts'

/** A folder to search at and below. */
export interface SearchRange {
  catalogue: number
  path: StoragePath
  /** The gram that everything there has. */
  gram: number
}

/** A text that names contain, as marked names contain it: see `services/catalogue/names.ts`. */
interface SearchTerm {
  needle: string
  startNeedle: string
  grams: readonly number[]
}

export interface CatalogueQuery {
  /** At least one. */
  ranges: readonly SearchRange[]
  terms: readonly [SearchTerm, ...SearchTerm[]]
  fullName: string
  wholeGram: number
  startGram: number
  isFolder: boolean | null
  /** The extensions that files have, in lower case, which excludes folders; null for any. */
  extensions: readonly string[] | null
  minSize: number | null
  maxSize: number | null
  modifiedAfter: Date | null
  modifiedBefore: Date | null
  /** In lower case; null for any. */
  tag: string | null
  /** The words that contents contain, as a tsquery; null to search only names. */
  content: string | null
}

/**
 * How well an entry matches: 0 has a name that equals the text, 1 one that begins with it, 2 one with words that begin with it, 3 one that
 * contains it, and 4 a name that does not, and a content that does.
 */
type Rank = 0 | 1 | 2 | 3 | 4
/** The last rank of entries whose names equal or begin with the text. */
const startRank = 1
/** The rank of entries whose content matches, and not their name. */
export const contentRank = 4

export interface FoundEntry {
  catalogue: number
  path: StoragePath
  isFolder: boolean
  size: number | null
  modifiedAt: Date | null
  etag: string | null
  checksums: Readonly<Record<string, string>>
  rank: Rank
}

/** The position of an entry in the results. */
export type FoundPosition = Pick<FoundEntry, 'rank' | 'modifiedAt' | 'catalogue' | 'path'>

/**
 * The maximum number of entries that are ranked. If more match, all that equal or begin with the text are ranked, up to this number,
 * and as many of the others.
 */
const maxCandidates = 2000
/** The same for a text that is so frequent that its entries are read in the order of their paths. */
const maxScanned = 1000
/** The part of all entries that such a text is expected in. */
const frequent = 0.04
/** Grams of each term that the index is asked for: the rarest. A comparison of the names follows. */
const maxGrams = 3
/** A gram that a smaller part of all entries has costs the index little. */
const rare = 0.005
/** The part of all entries up to which their names are compared rather than the index asked for a further frequent gram. */
const compared = 0.005
/** The number of matches that are expected to be too many to rank all of them. Estimates are low where words often come together. */
const many = 500
/** The part of all entries that a range must have so that its gram is not asked for. */
const large = 0.3
/** The number of folders up to which they are read in the order of their paths. */
const maxScannedRanges = 10
/** The maximum number of files whose content matches. */
const maxContents = 1000
/** Milliseconds. */
const timeout = 5000

/**
 * Returns up to `limit` entries after a position: the best matches first, then the newest.
 * @throws an error of PostgreSQL with the code 57014 if the search takes too long
 */
export async function searchCatalogues(db: Database, query: CatalogueQuery, page: FoundPage): Promise<FoundEntry[]> {
  return db.transaction().execute(async trx => {
    // A plan without the index of grams would read every entry.
    await sql`select set_config('statement_timeout', ${String(timeout)}, true), set_config('enable_seqscan', 'off', true),
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
      set_config('work_mem', '32MB', true)`.execute(trx)
    const [all, start, whole] = tiersOf(query, await statisticsOf(trx, query))

    const find = async (query: CatalogueQuery, tier: Tier) => {
      const scan = scanOf(query, tier)
      const scanned = scan && (await rank(trx, query, page, scan))
      if (scanned && scanned.candidates === maxScanned) return { found: scanned.found, isCut: true }
      const { found, candidates } = await rank(trx, query, page, candidatesOf(query, tier))
      return { found, isCut: candidates === maxCandidates }
    }
    // Names that equal or begin with the text come first, and often fill the page.
    const findFirst = async () => {
      if (page.after && page.after.rank > startRank) return []
      const names = { ...query, content: null }
      return merged([(await find(names, whole)).found, (await find(names, start)).found])
    }

    const first = all.expected > many ? await findFirst() : null
    if (first && first.length >= page.limit) return first.slice(0, page.limit)
    const { found, isCut } = await find(query, all)
    if (!isCut) return found
    return [...(first ?? (await findFirst())), ...found.filter(({ rank }) => rank > startRank)].slice(0, page.limit)
  })
}

/** Some of the entries that match. */
interface Tier {
  /** Grams that they have. */
  grams: readonly number[]
  /** The part of all entries that is expected to match, not counting the ranges. */
  part: number
  /** The number of entries that are expected to match. */
  expected: number
  /** Conditions besides the query. */
  condition: RawBuilder<boolean>
  /** The grams of the ranges; null if those would exclude little. */
  rangeGrams: readonly number[] | null
}

/** Returns all that match, those whose names begin with the text, and those whose names equal it. */
function tiersOf(
  { terms, ranges, fullName, wholeGram, startGram }: CatalogueQuery,
  { entries, parts }: Statistics,
): [all: Tier, start: Tier, whole: Tier] {
  const partOf = (gram: number) => parts.get(gram) ?? 0
  const isLarge = ranges.some(({ gram }) => partOf(gram) > large)
  const rangeGrams = isLarge ? null : ranges.map(({ gram }) => gram)
  const rangePart = rangeGrams?.reduce((sum, gram) => sum + partOf(gram), 0) ?? 1
  const tier = (grams: readonly (readonly number[])[], condition: RawBuilder<boolean>): Tier => {
    const sorted = grams.map(grams => grams.toSorted((a, b) => partOf(a) - partOf(b)))
    const part = sorted.reduce((product, [rarest = 0]) => product * partOf(rarest), 1)
    return { grams: chosen(sorted, parts), part, expected: entries * part * rangePart, condition, rangeGrams }
  }
  const [first, ...others] = terms.map(({ grams }) => grams)
  // The beginning of the first term is the first of its grams, too.
  const start = [[startGram, ...(first?.slice(1) ?? [])], ...others]
  return [
    tier([first ?? [], ...others], sql<boolean>`true`),
    tier(start, sql<boolean>`starts_with(e.name, ${terms[0].startNeedle})`),
    // Few other names have the gram of a whole name, unless a frequent one is the same by chance.
    tier(partOf(wholeGram) < rare ? [[wholeGram]] : [[wholeGram], ...start], sql<boolean>`e.name = ${fullName}`),
  ]
}

/**
 * Returns the grams that the index is asked for. Grams of one term often come together, so a further frequent one excludes little
 * of what the others leave, and its whole list would be read.
 * @param sorted those of each term, the rarest first
 */
function chosen(sorted: readonly (readonly number[])[], parts: ReadonlyMap<number, number>): number[] {
  let left = 1
  const found = new Set<number>()
  for (let index = 0; index < maxGrams; index++) {
    for (const { [index]: gram } of sorted) {
      const part = gram === undefined ? 1 : (parts.get(gram) ?? 0)
      if (gram === undefined || (part >= rare && left <= compared)) continue
      found.add(gram)
      // Values that the statistics do not show may have become frequent since.
      if (index === 0 && part > 0) left *= part
    }
  }
  return [...found]
}

interface FoundPage {
  after: FoundPosition | null
  limit: number
}

interface Statistics {
  /** The number of all entries. */
  entries: number
  /** The part of them that have each gram of a query, as far as it is known to be large. */
  parts: ReadonlyMap<number, number>
}

async function statisticsOf(db: Database, query: CatalogueQuery): Promise<Statistics> {
  const { terms, ranges, wholeGram, startGram } = query
  const grams = [...terms.flatMap(term => term.grams), ...ranges.map(({ gram }) => gram), wholeGram, startGram]
  const { rows } = await sql<{ entries: number; gram: number | null; part: number }>`
    select c.reltuples as entries, f.gram, f.part from pg_class c
    left join (pg_stats s
      cross join lateral unnest(s.most_common_elems::text::smallint[], s.most_common_elem_freqs) as f (gram, part))
      on s.schemaname = current_schema and s.tablename = 'catalogue_entries' and s.attname = 'grams'
      and f.gram = any(${grams}::smallint[])
    where c.oid = 'catalogue_entries'::regclass`.execute(db)
  const parts = rows.flatMap(({ gram, part }) => (gram === null ? [] : [[gram, part] as const]))
  return { entries: Math.max(0, rows[0]?.entries ?? 0), parts: new Map(parts) }
}

/** Sorts entries as the query does. */
function merged(tiers: readonly (readonly FoundEntry[])[]): FoundEntry[] {
  const all = new Map(tiers.flat().map(entry => [`${entry.catalogue} ${entry.path}`, entry]))
  const timeOf = ({ modifiedAt }: FoundEntry) => modifiedAt?.getTime() ?? Number.NEGATIVE_INFINITY
  return [...all.values()].sort(
    (a, b) =>
      a.rank - b.rank ||
      (timeOf(b) > timeOf(a) ? 1 : timeOf(b) < timeOf(a) ? -1 : 0) ||
      a.catalogue - b.catalogue ||
      Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)),
  )
}

interface FoundRow extends Omit<FoundEntry, 'size' | 'checksums'> {
  size: string | null
  checksums: Record<string, string> | null
  candidates: number
}

async function rank(
  db: Database,
  query: CatalogueQuery,
  { after, limit }: FoundPage,
  candidates: RawBuilder<unknown>,
): Promise<{ found: FoundEntry[]; candidates: number }> {
  const contents = query.content === null ? sql`` : sql`union all (${contentCandidates(query, query.content)})`
  const { rows } = await sql<FoundRow>`
    with candidates as (${candidates}),
    ranked as (
      select c.catalogue, c.path, c.is_folder, c.size, c.modified_at, c.etag, c.checksums, case
        when c.name = ${query.fullName} then 0
        when starts_with(c.name, ${query.terms[0].startNeedle}) then 1
        when ${allOf(query.terms.map(({ startNeedle }) => contains(sql`c.name`, startNeedle)))} then 2
        else 3 end as rank
      from candidates c
      ${contents}
    )
    select r.catalogue, r.path, r.is_folder as "isFolder", r.size, r.modified_at as "modifiedAt", r.etag, r.checksums, r.rank,
      (select count(*)::integer from candidates) as candidates
    from (select 1) one left join (
      select * from ranked r where ${after ? isAfter(after) : sql`true`}
      order by r.rank, r.modified_at desc nulls last, r.catalogue, r.path
      limit ${limit}
    ) r on true
    order by r.rank, r.modified_at desc nulls last, r.catalogue, r.path`.execute(db)
  // Without a result, the only row has the number of candidates.
  const found = rows.flatMap(({ catalogue, path, isFolder, modifiedAt, etag, rank, ...row }) => {
    if (path === null) return []
    const size = row.size === null ? null : Number(row.size)
    return { catalogue, path, isFolder, size, modifiedAt, etag, checksums: row.checksums ?? {}, rank }
  })
  return { found, candidates: rows[0]?.candidates ?? 0 }
}

const candidateColumns = sql`e.catalogue, e.path, e.name, e.is_folder, e.size, e.modified_at, e.etag, e.checksums`

/**
 * The SQL of candidates among the first entries of each range, which is faster than the index of grams for a frequent text: the index
 * reads all that match before it returns the first one.
 * @returns null if it would not be faster
 */
function scanOf(query: CatalogueQuery, { part, condition }: Tier): RawBuilder<unknown> | null {
  const { ranges, terms } = query
  if (part < frequent || ranges.length > maxScannedRanges || filtersOf(query).length > 0) return null
  const limit = Math.ceil((2 * maxScanned) / part)
  const entries = sql.join(
    ranges.map(
      ({ catalogue, path }) => sql`(
        select ${candidateColumns} from catalogue_entries e
        where e.catalogue = ${catalogue} and ${path === '' ? sql`true` : sql`e.path >= ${path} and e.path < ${`${path}0`}`}
        order by e.path limit ${limit})`,
    ),
    sql` union all `,
  )
  const conditions = [
    ...terms.map(({ needle }) => contains(sql`e.name`, needle)),
    condition,
    isInRanges(ranges),
    isShown,
  ]
  return sql`select ${candidateColumns} from (${entries}) e where ${allOf(conditions)} limit ${maxScanned}`
}

function candidatesOf(query: CatalogueQuery, { grams, condition, rangeGrams }: Tier): RawBuilder<unknown> {
  const conditions = [
    sql<boolean>`e.grams @> ${grams}::smallint[]`,
    ...(rangeGrams ? [sql<boolean>`e.grams && ${rangeGrams}::smallint[]`] : []),
    isInRanges(query.ranges),
    ...query.terms.map(({ needle }) => contains(sql`e.name`, needle)),
    condition,
    ...filtersOf(query),
    isShown,
  ]
  return sql`select ${candidateColumns} from catalogue_entries e where ${allOf(conditions)} limit ${maxCandidates}`
}

/** Files whose content matches, and whose name does not. The text of another version of a file is not searched. */
function contentCandidates({ ranges, terms, ...query }: CatalogueQuery, content: string): RawBuilder<unknown> {
  const conditions = [
    sql<boolean>`c.state = 'DONE' and c.words @@ ${content}::tsquery`,
    sql<boolean>`c.folders && ${ranges.map(({ gram }) => gram)}::integer[]`,
    sql<boolean>`(c.size, c.modified_at, c.etag) is not distinct from (e.size, e.modified_at, e.etag) and not e.is_folder`,
    isInRanges(ranges),
    sql<boolean>`not ${allOf(terms.map(({ needle }) => contains(sql`e.name`, needle)))}`,
    ...filtersOf(query),
    isShown,
  ]
  return sql`select e.catalogue, e.path, e.is_folder, e.size, e.modified_at, e.etag, e.checksums, ${contentRank}::integer
    from catalogue_contents c join catalogue_entries e on e.catalogue = c.catalogue and e.path = c.path
    where ${allOf(conditions)} limit ${maxContents}`
}

type Filters = Pick<
  CatalogueQuery,
  'isFolder' | 'extensions' | 'minSize' | 'maxSize' | 'modifiedAfter' | 'modifiedBefore' | 'tag'
>

function filtersOf(filters: Filters): RawBuilder<boolean>[] {
  const { isFolder, extensions, minSize, maxSize, modifiedAfter, modifiedBefore, tag } = filters
  return [
    ...(isFolder === null ? [] : [sql<boolean>`e.is_folder = ${isFolder}`]),
    ...(extensions === null
      ? []
      : [sql<boolean>`not e.is_folder and lower(substring(e.path from '[.]([^./]+)$')) = any(${extensions}::text[])`]),
    ...(minSize === null ? [] : [sql<boolean>`e.size >= ${minSize}`]),
    ...(maxSize === null ? [] : [sql<boolean>`e.size <= ${maxSize}`]),
    ...(modifiedAfter === null ? [] : [sql<boolean>`e.modified_at >= ${modifiedAfter}`]),
    ...(modifiedBefore === null ? [] : [sql<boolean>`e.modified_at < ${modifiedBefore}`]),
    ...(tag === null ? [] : [hasTag(tag)]),
  ]
}

/** The SQL of `isWithin`. The columns are compared byte by byte, and "0" follows "/". */
function isInRanges(ranges: readonly SearchRange[]): RawBuilder<boolean> {
  const isIn = sql<boolean>`(r.path = '' or e.path = r.path or (e.path > r.path || '/' and e.path < r.path || '0'))`
  return sql<boolean>`exists (
    select from unnest(${ranges.map(({ catalogue }) => catalogue)}::integer[], ${ranges.map(({ path }) => path)}::text[])
      as r (catalogue, path)
    where r.catalogue = e.catalogue and ${isIn})`
}

/** Excludes what was at the paths of a folder that was deleted or has moved, and what the folder has replaced. */
export const isShown = sql<boolean>`not exists (
  select from catalogue_changes h cross join lateral (values (h.path), (h.to_path)) as p (path)
  where h.catalogue = e.catalogue and h.kind in ('REMOVED', 'MOVED')
    and (e.path = p.path or (e.path > p.path || '/' and e.path < p.path || '0')))`

function contains(name: RawBuilder<unknown>, needle: string): RawBuilder<boolean> {
  return sql<boolean>`strpos(${name}, ${needle}) > 0`
}

function allOf(conditions: readonly RawBuilder<boolean>[]): RawBuilder<boolean> {
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

function isAfter({ rank, modifiedAt, catalogue, path }: FoundPosition): RawBuilder<boolean> {
  const isLater = sql<boolean>`(r.catalogue, r.path) > (${catalogue}::integer, ${path}::text collate "C")`
  const isOlder =
    modifiedAt === null
      ? sql<boolean>`r.modified_at is null and ${isLater}`
      : sql<boolean>`r.modified_at is null or r.modified_at < ${modifiedAt} or (r.modified_at = ${modifiedAt} and ${isLater})`
  return sql<boolean>`(r.rank > ${rank} or (r.rank = ${rank} and (${isOlder})))`
}
