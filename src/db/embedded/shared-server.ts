/** Connects to the database of another server process that owns the data folder. */
import { randomUUID } from 'node:crypto'
import { chown, readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { Client } from 'pg'
import { type Address, addressOf, connectClient } from './connection.ts'
import { isErrno } from './errors.ts'
import type { Layout } from './layout.ts'

interface OwnerRecord {
  /**
   * Differs with every start. It shows whether another owner started between the read of this record and the
   * connection.
   */
  id: string
  pid: number
}

export interface SharedServer {
  address: Address
  /** An idle connection, which ends when the owner's database ends. */
  watch: Client
}

export async function publishOwner(layout: Layout): Promise<void> {
  const record: OwnerRecord = { id: randomUUID(), pid: process.pid }
  const partial = `${layout.ownerRecord}.new`
  await rm(partial, { force: true })
  await writeFile(partial, JSON.stringify(record), { flag: 'wx', mode: 0o600 })
  await chown(partial, layout.owner.uid, layout.owner.gid)
  await rename(partial, layout.ownerRecord)
}

export async function withdrawOwner(layout: Layout): Promise<void> {
  await rm(layout.ownerRecord, { force: true })
}

export async function readOwner(layout: Layout): Promise<OwnerRecord | undefined> {
  try {
    return JSON.parse(await readFile(layout.ownerRecord, 'utf8')) as OwnerRecord
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Returns undefined until an owner has a database that is ready. */
export async function joinSharedServer(layout: Layout): Promise<SharedServer | undefined> {
  const owner = await readOwner(layout)
  if (owner === undefined) return undefined
  const address = await addressOf(layout.data)
  const watch = await connectClient(address.connection).catch(() => undefined)
  if (watch !== undefined && (await readOwner(layout))?.id === owner.id) return { address, watch }
  await watch?.end()
  await address.close()
  return undefined
}
