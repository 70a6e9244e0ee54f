/** Loads entries into a catalogue without a back end, because millions of files take hours to make. */
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import type { StoragePath } from '../src/auth/path.ts'
import { ancestorsOf } from '../src/auth/path.ts'
import { hashOfId, toEntry } from '../src/services/catalogue/entry.ts'
import { connectToDatabase } from './installation.ts'

/** The rows of one COPY. */
const batch = 500_000
const table = 'catalogue_entries'

/**
 * Adds files to the only catalogue. No server works on it afterwards. The indexes are built again at the end, as after a first fill.
 * @param folder that of the installation
 */
export async function loadEntries(folder: string, paths: Iterable<string>, say: (line: string) => void): Promise<void> {
  const db = await connectToDatabase(folder)
  try {
    const { rows } = await db.query(`
      update catalogues set lease_id = gen_random_uuid(), lease_until = now() + interval '7 days', changes_server = null,
        changes_retry_at = now() + interval '7 days' where provider_id is not null returning id`)
    const indexes = await withoutIndexes(db)
    await db.query(`alter table ${table} disable trigger user`)
    const file = join(folder, 'rows')
    const lines = linesOf(rows[0].id, paths, await foldersOf(db))
    for (let loaded = 0; ; ) {
      const count = await writeLines(file, lines)
      await db.query(
        `copy ${table} (size, modified_at, file_id, catalogue, is_folder, path, name, etag, grams) from '${file}'`,
      )
      loaded += count
      say(`  ${loaded.toLocaleString('en')} entries loaded`)
      if (count < batch) break
    }
    await rm(file)
    await db.query(`alter table ${table} enable trigger user`)
    await db.query(`set maintenance_work_mem = '1GB'`)
    for (const index of indexes) await db.query(index)
    await db.query('truncate catalogue_folders')
    await db.query(`
      insert into catalogue_folders (catalogue, path, files, bytes)
      select catalogue, regexp_replace(path, '/?[^/]*$', '') collate "C", count(*), coalesce(sum(size), 0)
      from ${table} where not is_folder group by 1, 2`)
    await db.query(`update catalogues c set entries = (select count(*) from ${table} e where e.catalogue = c.id)`)
  } finally {
    await db.end()
  }
}

/** Removes all indexes. Returns the statements that make them. */
async function withoutIndexes(db: pg.Client): Promise<string[]> {
  const { rows } = await db.query(`select indexname, indexdef from pg_indexes where tablename = '${table}'`)
  await db.query(`alter table ${table} drop constraint ${table}_pkey`)
  for (const { indexname } of rows) await db.query(`drop index if exists ${indexname}`)
  const isKey = ({ indexname }: { indexname: string }) => indexname === `${table}_pkey`
  return [
    `alter table ${table} add primary key (catalogue, path)`,
    ...rows.filter(row => !isKey(row)).map(({ indexdef }) => indexdef),
  ]
}

async function foldersOf(db: pg.Client): Promise<Set<string>> {
  const { rows } = await db.query(`select path from ${table} where is_folder`)
  return new Set(rows.map(({ path }) => path))
}

/** Returns the rows of files, and of the folders around them that are not known, in the text format of COPY. */
function* linesOf(catalogue: number, paths: Iterable<string>, known: Set<string>): Generator<string> {
  for (const path of paths as Iterable<StoragePath>) {
    for (const folder of ancestorsOf(path)) {
      if (folder === '' || known.has(folder)) continue
      known.add(folder)
      yield lineOf(catalogue, folder, true)
    }
    yield lineOf(catalogue, path, false)
  }
}

const begin = Date.UTC(2020, 0)

function lineOf(catalogue: number, path: StoragePath, isFolder: boolean): string {
  const fileId = hashOfId(path)
  const modifiedAt = new Date(begin + Number.parseInt(fileId.slice(0, 8), 16) * 40)
  const etag = fileId.slice(0, 30)
  const size = isFolder ? null : Number.parseInt(fileId.slice(8, 13), 16)
  const { name, grams } = toEntry(catalogue, path, { isFolder, size, modifiedAt, etag, fileId, checksums: {} })
  const values = [
    size ?? '\\N',
    modifiedAt.toISOString(),
    fileId,
    catalogue,
    isFolder,
    path,
    name,
    etag,
    `{${grams.join(',')}}`,
  ]
  return `${values.join('\t')}\n`
}

/** Writes the next lines. Returns their number. */
async function writeLines(file: string, lines: Generator<string>): Promise<number> {
  let count = 0
  function* some() {
    for (let text = ''; count < batch; text = '') {
      for (let next = lines.next(); ; next = lines.next()) {
        if (next.done) {
          if (text !== '') yield text
          return
        }
        text += next.value
        count += 1
        if (text.length > 1e6 || count === batch) break
      }
      yield text
    }
  }
  await pipeline(some(), createWriteStream(file))
  return count
}
