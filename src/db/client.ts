import { type CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Schema } from './schema.ts'

export type Database = Kysely<Schema>

declare const withItsEvent: unique symbol
/** A transaction that also writes the audit event of its change: see `changeWithEvent`. */
export type Change = Database & { readonly [withItsEvent]: true }

export type Connection = { connectionString: string } | { host: string; port: number; user: string; database: string }

export interface DatabaseOptions {
  /** The maximum number of connections. */
  max?: number
  /** Called when a connection breaks while idle. The pool replaces it. */
  onError?: (error: Error) => void
  /** Tests count queries with it. */
  onQuery?: (query: CompiledQuery) => void
}

export function connect(connection: Connection, options: DatabaseOptions = {}): Database {
  const pool = new pg.Pool({
    ...connection,
    max: options.max ?? 10,
    connectionTimeoutMillis: 10_000,
    application_name: 'stowage',
  })
  pool.on('error', options.onError ?? (() => {}))
  // The failed query reports a broken connection. Without a listener, the event would end the process.
  pool.on('connect', client => client.on('error', () => {}))
  return new Kysely<Schema>({
    dialect: new PostgresDialect({ pool }),
    ...(options.onQuery && {
      log: event => {
        if (event.level === 'query') options.onQuery?.(event.query)
      },
    }),
  })
}

/** PostgreSQL's condition names, Appendix A. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505'
}
