/** Stores files in a SQLite database: one row for each file and folder, and the bytes in pieces. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type AdapterDefinition, nameOf, parentOf, StorageError, type StoragePath, segmentsOf } from 'stowage/adapter'
import { type Facts, openPlainProvider, type PlainFiles } from 'stowage/adapter/plain'

const adapter: AdapterDefinition<{ name: string }> = {
  type: 'sqlite-plain',
  apiVersion: 1,
  title: 'SQLite database',
  configSchema: {
    type: 'object',
    properties: {
      // A name, not a path: the person who connects a provider must not choose which file of the server is written.
      name: { type: 'string', title: 'Database', description: 'Created if missing.', pattern: '^[a-z0-9-]{1,64}$' },
    },
    required: ['name'],
  },
  async open({ name }, host) {
    const folder = process.env.SQLITE_FOLDER
    if (!folder) throw new StorageError('INVALID_CONFIG', 'Set SQLITE_FOLDER in the environment of the server.')
    return await openPlainProvider(sqliteFiles(join(folder, `${name}.sqlite`)), host)
  },
}
export default adapter

// An id is also an etag. `autoincrement` ensures that the id of a deleted file is not used again.
const schema = `
  pragma journal_mode = wal; pragma synchronous = normal; pragma busy_timeout = 5000; pragma foreign_keys = on;
  create table if not exists entries (id integer primary key autoincrement, parent integer references entries, name text,
    size integer, modified integer, unique (parent, name));
  create table if not exists pieces (entry integer references entries on delete cascade, start integer, bytes blob,
    primary key (entry, start));
  insert or ignore into entries (id, name) values (0, '');`

/** An entry of the database. A folder has no size. The root has the id 0. */
interface Row {
  id: number
  name: string
  size: number | null
  /** Milliseconds since 1970; null for the root. */
  modified: number | null
}

/** Calls SQLite synchronously, as it takes microseconds. Never do this with a back end on a network. */
function sqliteFiles(file: string): PlainFiles {
  const db = openDatabase(file)
  const one = db.prepare('select * from entries where parent = ? and name = ?')
  const all = db.prepare('select * from entries where parent = ?')
  const insert = db.prepare('insert into entries (parent, name, size, modified) values (?, ?, ?, ?) returning id')
  const resize = db.prepare('update entries set size = ? where id = ?')
  const move = db.prepare('update entries set parent = ?, name = ? where id = ?')
  const remove = db.prepare('delete from entries where id = ?')
  const insertPiece = db.prepare('insert into pieces values (?, ?, ?)')
  const pieceAt = db.prepare('select start, bytes from pieces where entry = ? and start <= ? order by start desc')

  const lookUp = (path: StoragePath): Row | undefined => {
    let row: Row | undefined = { id: 0, name: '', size: null, modified: null }
    for (const name of segmentsOf(path)) row = row && (one.get(row.id, name) as Row | undefined)
    return row
  }
  const find = (path: StoragePath): Row => lookUp(path) ?? refuse('NOT_FOUND', 'There is nothing at this path.')
  const findFolder = (path: StoragePath): Row => {
    const row = find(path)
    return row.size === null ? row : refuse('NOT_A_DIRECTORY', 'This is a file.')
  }
  /** Makes all changes of `work`, or none. They survive a power cut, and so does everything that was written before. */
  const change = <T>(work: () => T): T => {
    db.exec('pragma synchronous = full; begin immediate')
    try {
      const result = work()
      db.exec('commit')
      return result
    } catch (error) {
      db.exec('rollback')
      throw error
    } finally {
      db.exec('pragma synchronous = normal')
    }
  }
  const add = (path: StoragePath, size: number | null, modified = new Date()): number => {
    const parent = findFolder(parentOf(path))
    if (lookUp(path)) refuse('ALREADY_EXISTS', 'There is something at this path already.')
    return (insert.get(parent.id, nameOf(path), size, modified.getTime()) as { id: number }).id
  }
  const toFacts = ({ id, size, modified }: Row): Facts => ({
    kind: size === null ? 'directory' : 'file',
    size,
    modifiedAt: modified === null ? null : new Date(modified),
    // The content of a file never changes once others can see it.
    etag: size === null ? null : String(id),
    fileId: `sqlite-plain:${file}#${id}`,
  })

  return {
    // SQLite stores every name. For a back end that does not, name the characters, or add `...windowsNames`.
    traits: { keepsModifiedAt: true, forbiddenInNames: '' },
    hasExclusiveRename: true,
    idOf: path => `sqlite-plain:${file}/${path}`,

    async find(path) {
      const row = lookUp(path)
      return row ? toFacts(row) : null
    },

    async list(path) {
      const rows = all.all(findFolder(path).id) as unknown as Row[]
      return rows.map(row => ({ ...toFacts(row), name: row.name }))
    },

    async *receive(path, { start, end, facts, signal }) {
      const { id } = find(path)
      if (facts.etag !== String(id)) refuse('PRECONDITION_FAILED', 'The file has changed.')
      for (let position = start; position < end; ) {
        signal.throwIfAborted()
        const piece = pieceAt.get(id, position) as { start: number; bytes: Uint8Array } | undefined
        const bytes = piece?.bytes.subarray(position - piece.start)
        if (!bytes?.length) refuse('UNAVAILABLE', 'The file was deleted while it was read.')
        yield bytes
        position += bytes.length
      }
    },

    async store(path, body, { modifiedAt }) {
      const id = add(path, 0, modifiedAt)
      let size = 0
      for await (const bytes of body) {
        insertPiece.run(id, size, bytes)
        size += bytes.length
      }
      // The provider renames the file next, which makes it durable.
      resize.run(size, id)
    },

    async rename(from, to, { overwrite }) {
      change(() => {
        const [source, parent, target] = [find(from), findFolder(parentOf(to)), lookUp(to)]
        if (target?.id === source.id) return
        if (target && (!overwrite || target.size === null || source.size === null)) {
          refuse('ALREADY_EXISTS', 'There is something at this path already.')
        }
        if (target) remove.run(target.id)
        move.run(parent.id, nameOf(to), source.id)
      })
    },

    async makeFolder(path) {
      change(() => add(path, null))
    },

    async removeFile(path) {
      change(() => {
        const { id, size } = find(path)
        if (size === null) refuse('NOT_A_FILE', 'This is a folder.')
        remove.run(id)
      })
    },

    async removeFolder(path) {
      change(() => {
        const { id } = findFolder(path)
        if (all.get(id)) refuse('NOT_EMPTY', 'The folder is not empty.')
        remove.run(id)
      })
    },

    close: () => db.close(),
  }
}

function openDatabase(file: string): DatabaseSync {
  try {
    const db = new DatabaseSync(file)
    db.exec(schema)
    return db
  } catch (cause) {
    throw new StorageError('INVALID_CONFIG', 'SQLITE_FOLDER must be a folder that the server can write to.', { cause })
  }
}

function refuse(code: StorageError['code'], message: string): never {
  throw new StorageError(code, message)
}
