/** Loads entries into a catalogue without a back end, because millions of files take hours to make. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import type pg from 'pg'
import type { StoragePath } from '../src/auth/path.ts'
import { ancestorsOf } from '../src/auth/path.ts'
import { hashOfId, toEntry } from '../src/services/catalogue/entry.ts'
import { connectToDatabase } from './installation.ts'

/** Characters that are sent at once. */
const chunk = 1_000_000
/** The entries after which a line says how many were sent. */
const said = 1_000_000
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
    const lines = linesOf(rows[0].id, paths, await foldersOf(db))
    await copy(db, `${table} (size, modified_at, file_id, catalogue, is_folder, path, name, etag, grams)`, lines, say)
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
  const random = hash('sha256', path, 'hex')
  const modifiedAt = new Date(begin + Number.parseInt(random.slice(0, 8), 16) * 40)
  const etag = random.slice(0, 30)
  const size = isFolder ? null : Number.parseInt(random.slice(8, 13), 16)
  const { name, grams } = toEntry(catalogue, path, { isFolder, size, modifiedAt, etag, fileId, checksums: {} })
  const values = [size ?? '\\N', modifiedAt.toISOString(), fileId, catalogue, isFolder, path, name, etag, grams]
  return `${values.join('\t')}\n`
}

/** The types of pg lack these. */
type CopyConnection = pg.Connection & { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }

/** Writes rows with COPY, which takes a tenth of the time of INSERT. */
async function copy(db: pg.Client, into: string, lines: Iterable<string>, say: (line: string) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const send = async (connection: CopyConnection) => {
    const { stream } = connection
    let text = ''
    let count = 0
    for (const line of lines) {
      text += line
      count += 1
      if (count % said === 0) say(`  ${count.toLocaleString('en')} entries sent`)
      if (text.length < chunk) continue
      connection.sendCopyFromChunk(Buffer.from(text))
      text = ''
      if (stream.writableNeedDrain) await once(stream, 'drain')
    }
    connection.sendCopyFromChunk(Buffer.from(text))
    connection.endCopyFrom()
  }
  db.query({
    submit: (connection: pg.Connection) => connection.query(`copy ${into} from stdin`),
    handleCopyInResponse: (connection: CopyConnection) => void send(connection).catch(reject),
    handleCommandComplete() {},
    handleReadyForQuery: () => resolve(),
    handleError: reject,
  } as pg.Submittable)
  return promise
}
