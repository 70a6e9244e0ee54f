// @ts-check
/** Stores files in a SQLite database: one row for each file and folder, and the bytes in pieces. */
/** @import { AdapterDefinition, Entry, StoragePath, StorageProvider } from 'stowage/adapter' */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { addAbortSignal, Readable } from 'node:stream'
import { childOf, nameOf, parentOf, StorageError } from 'stowage/adapter'

/** Who asks for older changes has to compare everything. */
const keptChanges = 100_000

const schema = `
  pragma journal_mode = wal; pragma synchronous = normal; pragma busy_timeout = 5000;
  create table if not exists entries (parent text, name text, version text, size integer, modified integer, type text,
    primary key (parent, name)) without rowid;
  create table if not exists pieces (version text, start integer, bytes blob, primary key (version, start));
  create table if not exists changes (id integer primary key autoincrement, parent text, name text);
  create trigger if not exists entry_put after insert on entries begin
    insert into changes (parent, name) values (new.parent, new.name);
    delete from changes where id <= last_insert_rowid() - ${keptChanges};
  end;
  create trigger if not exists entry_deleted after delete on entries begin
    insert into changes (parent, name) values (old.parent, old.name);
  end;`

/** @type {AdapterDefinition<{ name: string }>} */
export default {
  type: 'sqlite',
  apiVersion: 1,
  title: 'SQLite database',
  group: 'server',
  configSchema: {
    type: 'object',
    properties: {
      // A name, not a path: the person who connects a provider must not choose which file of the server is written.
      name: { type: 'string', title: 'Database', description: 'Created if missing.', pattern: '^[a-z0-9-]{1,64}$' },
    },
    required: ['name'],
  },
  async open({ name }) {
    const folder = process.env.SQLITE_FOLDER
    if (!folder)
      throw new StorageError(
        'INVALID_CONFIG',
        'Set SQLITE_FOLDER to a folder for databases in the environment of the server.',
      )
    try {
      return new SqliteProvider(join(folder, `${name}.sqlite`))
    } catch (cause) {
      throw new StorageError('INVALID_CONFIG', 'SQLITE_FOLDER must be a folder that the server can write to.', {
        cause,
      })
    }
  },
}

/**
 * Calls SQLite synchronously, as it takes microseconds. Never do this with a back end on a network.
 * @implements {StorageProvider}
 */
class SqliteProvider {
  traits = {
    emptyDirectories: true,
    keepsModifiedAt: true,
    // SQLite stores every name. For a back end that does not, name the characters, or add `...windowsNames`.
    forbiddenInNames: '',
  }

  /** @param {string} file */
  constructor(file) {
    this.file = file
    this.db = new DatabaseSync(file)
    this.db.exec(schema)
  }

  /** @type {StorageProvider['stat']} */
  async stat(path, { signal }) {
    signal.throwIfAborted()
    return this.#toEntry(find(this.db, path))
  }

  /** @type {StorageProvider['list']} */
  async list(path, { signal, cursor = '', limit }) {
    signal.throwIfAborted()
    if (find(this.db, path).version !== null) throw new StorageError('NOT_A_DIRECTORY', 'This is a file.')
    // The last name is the cursor, which stays valid while entries are added and removed.
    const after = this.db.prepare('select * from entries where parent = ? and name > ? order by name limit ?')
    const rows = after.all(path, cursor, limit + 1).map(row => /** @type {Row} */ (row))
    const entries = rows.slice(0, limit).map(row => this.#toEntry(row))
    const last = entries.at(-1)
    return rows.length > limit && last ? { entries, cursor: last.name } : { entries }
  }

  /** @type {StorageProvider['read']} */
  async read(path, { signal, range, ifMatch }) {
    signal.throwIfAborted()
    const { offset, length = Number.MAX_SAFE_INTEGER } = range ?? { offset: 0 }
    // A transaction on a separate connection keeps reading the same version until the body ends.
    const db = new DatabaseSync(this.file, { readOnly: true })
    try {
      db.exec('begin')
      const row = find(db, path)
      const { version, size } = row
      if (version === null) throw new StorageError('NOT_A_FILE', 'This is a folder.')
      if (ifMatch !== undefined && ifMatch !== version) throw new StorageError('PRECONDITION_FAILED', 'It has changed.')
      if (range && offset >= size) throw new StorageError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes.`)
      const end = Math.min(size, offset + length)
      const within = `select start, bytes from pieces where version = :version and start < :end and start >=
        (select max(start) from pieces where version = :version and start <= :offset) order by start`
      const pieces = db.prepare(within).iterate({ version, end, offset })
      const body = new Readable({
        read() {
          const { done, value } = pieces.next()
          const { start, bytes } = /** @type {{ start: number, bytes: Uint8Array }} */ (value ?? {})
          this.push(done ? null : bytes.subarray(Math.max(0, offset - start), end - start))
        },
        destroy(error, done) {
          db.close()
          done(error)
        },
      })
      return { body: addAbortSignal(signal, body), entry: this.#toEntry(row) }
    } catch (error) {
      db.close()
      throw error
    }
  }

  /** @type {StorageProvider['write']} */
  async write(path, body, { signal, mimeType = null, modifiedAt = new Date(), overwrite }) {
    const version = randomUUID()
    try {
      this.#refuseExisting(path, overwrite)
      const add = this.db.prepare('insert into pieces values (?, ?, ?)')
      let size = 0
      for await (const bytes of addAbortSignal(signal, body)) {
        add.run(version, size, bytes)
        size += bytes.length
      }
      signal.throwIfAborted()
      // Check again, as other writes may have ended since. Nothing awaits from here on, so check and write are one step.
      return this.#inTransaction(() => {
        const replaced = this.#refuseExisting(path, overwrite)
        this.#makeFolder(parentOf(path), 'NOT_A_DIRECTORY')
        if (replaced) this.db.prepare('delete from pieces where version = ?').run(replaced.version)
        const put = this.db.prepare('insert or replace into entries values (?, ?, ?, ?, ?, ?)')
        put.run(parentOf(path), nameOf(path), version, size, modifiedAt.getTime(), mimeType)
        return this.#toEntry(find(this.db, path))
      })
    } catch (error) {
      body.destroy()
      this.db.prepare('delete from pieces where version = ?').run(version)
      // On an abort the stream fails with an AbortError of its own.
      throw signal.aborted ? signal.reason : error
    }
  }

  /** @type {StorageProvider['delete']} */
  async delete(path, { signal }) {
    signal.throwIfAborted()
    this.#inTransaction(() => {
      const row = lookUp(this.db, path)
      if (!row) return
      if (this.db.prepare('select 1 from entries where parent = ? limit 1').get(path))
        throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
      this.db.prepare('delete from pieces where version = ?').run(row.version)
      this.db.prepare('delete from entries where parent = ? and name = ?').run(parentOf(path), nameOf(path))
    })
  }

  /** @type {StorageProvider['mkdir']} */
  async mkdir(path, { signal, exclusive }) {
    signal.throwIfAborted()
    this.#inTransaction(() => {
      if (exclusive) this.#refuseExisting(path, false)
      this.#makeFolder(path, 'ALREADY_EXISTS')
    })
  }

  /** @type {NonNullable<StorageProvider['changes']>} */
  async changes(cursor, { signal }) {
    signal.throwIfAborted()
    const range = this.db
      .prepare('select coalesce(min(id), 1) as first, coalesce(max(id), 0) as last from changes')
      .get()
    const { first, last } = /** @type {{ first: number, last: number }} */ (range)
    if (cursor === null) return { changed: [], cursor: String(last), hasMore: false }
    const since = Number(cursor)
    if (!(since + 1 >= first && since <= last)) return { changed: 'everything', cursor: String(last), hasMore: false }
    const rows = this.db.prepare('select * from changes where id > ? order by id limit 1000').all(since)
    const found = /** @type {{ id: number, parent: StoragePath, name: string }[]} */ (/** @type {unknown} */ (rows))
    const position = found.at(-1)?.id ?? since
    const changed = found.map(({ parent, name }) => ({ path: childOf(parent, name) }))
    return { changed, cursor: String(position), hasMore: position < last }
  }

  async close() {
    this.db.close()
  }

  /** @param {Row} row @returns {Entry} */
  #toEntry({ parent, name, version, size, modified, type }) {
    // The id is the same in every provider on this database.
    const fileId = `sqlite:${this.file}:${parent}/${name}`
    const modifiedAt = modified === null ? null : new Date(modified)
    if (version === null) return { name, kind: 'directory', size: null, modifiedAt, etag: null, mimeType: null, fileId }
    return { name, kind: 'file', size, modifiedAt, etag: version, mimeType: type, fileId }
  }

  /** Returns the file that a write to `path` replaces. @param {StoragePath} path @param {boolean} overwrite */
  #refuseExisting(path, overwrite) {
    const row = lookUp(this.db, path)
    if (row && !overwrite) throw new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
    if (row?.version === null) throw new StorageError('NOT_A_FILE', 'There is a folder at this path.')
    return row
  }

  /** Makes a folder and its parents. @param {StoragePath} path @param {'ALREADY_EXISTS' | 'NOT_A_DIRECTORY'} overFile */
  #makeFolder(path, overFile) {
    if (path === '') return
    const row = lookUp(this.db, path)
    if (row?.version) throw new StorageError(overFile, `There is a file named "${nameOf(path)}".`)
    if (row) return
    this.#makeFolder(parentOf(path), 'NOT_A_DIRECTORY')
    const put = this.db.prepare('insert into entries values (?, ?, null, 0, ?, null)')
    put.run(parentOf(path), nameOf(path), Date.now())
  }

  /**
   * The changes of `work` survive a power cut, and so does everything that was written before.
   * @template T @param {() => T} work @returns {T}
   */
  #inTransaction(work) {
    this.db.exec('pragma synchronous = full; begin immediate')
    try {
      const result = work()
      this.db.exec('commit')
      return result
    } catch (error) {
      this.db.exec('rollback')
      throw error
    } finally {
      this.db.exec('pragma synchronous = normal')
    }
  }
}

/**
 * A row of the table `entries`. A folder has no version.
 * @typedef {{ parent: string, name: string, version: string | null, size: number, modified: number | null, type: string | null }} Row
 */

/** @param {DatabaseSync} db @param {StoragePath} path @returns {Row | undefined} */
function lookUp(db, path) {
  if (path === '') return { parent: '', name: '', version: null, size: 0, modified: null, type: null }
  const row = db.prepare('select * from entries where parent = ? and name = ?').get(parentOf(path), nameOf(path))
  return /** @type {Row | undefined} */ (row)
}

/** @param {DatabaseSync} db @param {StoragePath} path @returns {Row} */
function find(db, path) {
  const row = lookUp(db, path)
  if (!row) throw new StorageError('NOT_FOUND', 'There is nothing at this path.')
  return row
}
