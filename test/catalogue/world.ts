/** A server with catalogues, and storages whose catalogues are compared with what they contain. */
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Test } from 'tap'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { until } from '../support/until.ts'

export interface CatalogueWorld {
  app: TestApp
  token: string
  /** Connects a local storage in a new folder. */
  disk(name: string): Promise<Disk>
}

export interface Disk {
  id: string
  root: string
  at(path: string): string
}

export async function catalogueWorld(t: Test, options: TestAppOptions = {}): Promise<CatalogueWorld> {
  const app = await startApp(t, { ...options, settings: { catalogueHours: 24, ...options.settings } })
  const { token } = await app.register('owner@example.org')
  return {
    app,
    token,
    async disk(name) {
      const root = join(app.folder, name)
      await mkdir(root, { recursive: true })
      return { id: await app.connectProvider(token, 'local', { root }, name), root, at: path => join(root, path) }
    },
  }
}

/** Returns what is below a folder: `path size` for files, `path/` for folders. */
export async function treeOf(root: string, within = ''): Promise<string[]> {
  const entries = await readdir(join(root, within), { withFileTypes: true })
  const found = await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith('.stowage-'))
      .map(async entry => {
        const path = within === '' ? entry.name : `${within}/${entry.name}`
        if (entry.isDirectory()) return [`${path}/`, ...(await treeOf(root, path))]
        return [`${path} ${(await stat(join(root, path))).size}`]
      }),
  )
  return found.flat().sort()
}

/** Returns what the catalogue of a storage has, in the form of `treeOf`. */
export async function catalogued({ db }: TestApp, providerId: string): Promise<string[]> {
  const { rows } = await sql<{ path: string; is_folder: boolean; size: string | null }>`
    select e.path, e.is_folder, e.size from catalogue_entries e join catalogues c on c.id = e.catalogue
    where c.provider_id = ${providerId}`.execute(db)
  return rows.map(({ path, is_folder, size }) => (is_folder ? `${path}/` : `${path} ${size}`)).sort()
}

export async function isComplete({ db }: TestApp, providerId: string): Promise<boolean> {
  const row = await db
    .selectFrom('catalogues')
    .select(['indexed_at', 'round_started_at'])
    .where('provider_id', '=', providerId)
    .executeTakeFirst()
  return row?.indexed_at != null && row.round_started_at === null
}

async function stateOf({ db }: TestApp, providerId: string): Promise<Record<string, unknown>> {
  const { rows } = await sql<Record<string, unknown>>`
    select c.round_next, c.failures, c.failure, c.retry_at, c.lease_until, now(),
      (select json_agg(x) from (select * from catalogue_changes x where x.catalogue = c.id limit 5) x) as changes
    from catalogues c where c.provider_id = ${providerId}`.execute(db)
  return rows[0] ?? {}
}

/** Waits until the catalogue of a storage has exactly what the storage contains. */
export async function converged(app: TestApp, { id, root }: Disk, within = 60_000): Promise<void> {
  await until(
    async () => {
      const [there, known] = await Promise.all([treeOf(root), catalogued(app, id)])
      const [missing, extra] = [
        there.filter(each => !known.includes(each)),
        known.filter(each => !there.includes(each)),
      ]
      if (missing.length + extra.length === 0) return true
      return { missing: missing.slice(0, 5), extra: extra.slice(0, 5), ...(await stateOf(app, id)) }
    },
    { within, every: 100 },
  )
}
