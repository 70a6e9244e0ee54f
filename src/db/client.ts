/**
 * The queries of the server, in a file for each table. Parsed values and a `Database` or a `Change` enter, and typed rows leave.
 * Services decide who may see them. `embedded/` runs the included PostgreSQL.
 *
 * This file connects to the database.
 */
import { finished } from 'node:stream/promises'
import { CompiledQuery, Kysely, PostgresDialect, type PostgresPool, type RawBuilder } from 'kysely'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Schema } from './schema.ts'

export type Database = Kysely<Schema>

declare const withItsEvent: unique symbol
/** A transaction that also writes the audit event of its change: see `changeWithEvent`. */
export type Change = Database & { readonly [withItsEvent]: true }

export type Connection = { connectionString: string } | { host: string; port: number; user: string; database: string }

export interface DatabaseOptions {
  /** The maximum number of connections. */
  max?: number
  /** Milliseconds that a query waits for one of them. */
  connectTimeout?: number
  /** Called when a connection breaks while idle. The pool replaces it. */
  onError?: (error: Error) => void
  /** Called when a query has ended, with the error if it failed. */
  onQuery?: (query: CompiledQuery, milliseconds: number, error?: unknown) => void
  /** Milliseconds after which a query counts as lost, and its connection is closed. Null is no timeout, for migrations. */
  queryTimeout?: number | null
}

/** The part of a pool that a database uses. */
export interface Pool extends PostgresPool {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
}

const connections = new WeakMap<Database, Connection>()
const pools = new WeakMap<Database, Pool>()
/** Milliseconds. The longest queries delete or retry jobs with millions of entries. */
const defaultQueryTimeout = 120_000
/** Milliseconds of silence before an idle connection is probed. */
const keepAliveDelay = 10_000

export function connect(connection: Connection, options: DatabaseOptions = {}): Database {
  return databaseOver(openPool(connection, options), connection, options)
}

export function openPool(connection: Connection, options: DatabaseOptions): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    max: options.max ?? 10,
    connectionTimeoutMillis: options.connectTimeout ?? 10_000,
    application_name: 'stowage',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelay,
    Client: clientWithTimeout(options.queryTimeout === undefined ? defaultQueryTimeout : options.queryTimeout),
  })
  pool.on('error', options.onError ?? (() => {}))
  // The failed query reports a broken connection. Without a listener, the event would end the process.
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

/** @param pool connections to the same database, which it ends */
export function databaseOver(pool: Pool, connection: Connection, options: Pick<DatabaseOptions, 'onQuery'>): Database {
  const db: Database = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool }),
    ...(options.onQuery && {
      log: event => {
        options.onQuery?.(event.query, event.queryDurationMillis, event.level === 'error' ? event.error : undefined)
      },
    }),
  })
  connections.set(db, connection)
  pools.set(db, pool)
  return db
}

/** Returns the number of connections of the pool, of those that are idle, and of the queries that wait for one. */
export function poolState(db: Database): { total: number; idle: number; waiting: number } {
  const pool = pools.get(db)
  return { total: pool?.totalCount ?? 0, idle: pool?.idleCount ?? 0, waiting: pool?.waitingCount ?? 0 }
}

/** Returns a connection outside of the pool, to the same database. The caller connects and ends it. */
export function connectionBeside(db: Database): pg.Client {
  const connection = connections.get(db)
  if (!connection) throw new Error('`connect` has not returned this database')
  return new pg.Client({
    ...connection,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'stowage',
  })
}

/** Runs a compiled query with other parameters than those that it was compiled with. */
export async function executeWith<Row>(
  db: Database,
  query: CompiledQuery<Row>,
  parameters: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await db.executeQuery({ ...query, parameters } as typeof query)
  return rows
}

/** Runs a query whose text never varies: see `prepared`. */
export async function executePrepared<Row>(db: Database, query: RawBuilder<Row>): Promise<Row[]> {
  const { rows } = await db.executeQuery(prepared(query.compile(db)))
  return rows
}

/** The names of prepared statements by their text. */
const preparedNames = new Map<string, string>()
let lastName = 0

/**
 * Makes each connection parse and plan a query only once. Use it outside of transactions, for queries that run with nearly every
 * request.
 */
export function prepared<Query extends CompiledQuery<unknown>>(query: Query): Query {
  if (!preparedNames.has(query.sql)) preparedNames.set(query.sql, `stowage_${++lastName}`)
  return query
}

const copyStatements = new Set<string>()

/**
 * Adds rows, which takes PostgreSQL and the server less time than INSERT.
 * @param into a table and its columns, as SQL that never varies
 * @param rows in the text format of COPY
 */
export async function copyInto(db: Database, into: string, rows: string): Promise<void> {
  const statement = `copy ${into} from stdin`
  copyStatements.add(statement)
  await db.executeQuery(CompiledQuery.raw(statement, [rows]))
}

/** The errors of a pooler that passes connections on, and of a table that was changed meanwhile: Appendix A. */
const unprepared: ReadonlySet<unknown> = new Set(['26000', '42P05', '0A000'])

/**
 * A connection whose peer is gone can stay silent forever, so closes it when a query takes too long. With the option
 * `query_timeout` of pg, the connection would stay in the pool, and all later queries would wait for the lost one.
 */
function clientWithTimeout(timeout: number | null): typeof pg.Client {
  if (timeout === null) return pg.Client
  return class extends pg.Client {
    override query(...args: unknown[]): never {
      const result = this.#start(args)
      if (result instanceof Promise) {
        const timer = setTimeout(() => void this.end().catch(() => {}), timeout).unref()
        result.catch(() => {}).finally(() => clearTimeout(timer))
      }
      return result as never
    }

    #start(args: unknown[]): unknown {
      const [text, values] = args as [string, unknown[]]
      const name = preparedNames.get(text)
      if (name !== undefined) return this.#queryPrepared({ name, text, values })
      if (copyStatements.has(text)) return this.#copy(text, String(values[0]))
      return super.query(...(args as Parameters<pg.Client['query']>))
    }

    async #copy(statement: string, rows: string): Promise<Pick<pg.QueryResult, 'command' | 'rowCount' | 'rows'>> {
      const stream = super.query(copyFrom(statement))
      stream.end(rows)
      await finished(stream)
      return { command: 'COPY', rowCount: stream.rowCount, rows: [] }
    }

    async #queryPrepared(query: { name: string; text: string; values: unknown[] }): Promise<pg.QueryResult> {
      try {
        return await super.query(query)
      } catch (error) {
        if (!(error instanceof pg.DatabaseError) || !unprepared.has(error.code)) throw error
        preparedNames.delete(query.text)
        return await super.query(query.text, query.values)
      }
    }
  }
}

/** The names of these conditions are PostgreSQL's, in Appendix A. @param index the unique index. Default: any */
export function isUniqueViolation(error: unknown, index?: string): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code !== '23505') return false
  return index === undefined || error.constraint === index
}

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23503'
}

export function isDeadlock(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '40P01'
}

/** Encodes a value as JSON. Replaces NUL and lone surrogates in texts, which PostgreSQL cannot store. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, each) => (typeof each === 'string' ? storable(each) : each))
}

function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}
