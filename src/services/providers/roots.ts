/**
 * Prevents that anything is stored without encryption in the folder of an encrypted storage: no other storage may have the same root, a root
 * above it or a root below it. Roots are compared by their ids at the back end. A server with two names, or a folder that is mounted
 * twice, has two ids and is not noticed.
 */
import { isDeepStrictEqual } from 'node:util'
import type { StorageProvider } from '../../../adapters/contract.ts'
import { root } from '../../auth/path.ts'
import type { Change, Database } from '../../db/client.ts'
import { listAllProviders, lockRoots, type ProviderRecord } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'

/** A storage that is about to be connected, or to get another configuration. */
export interface NewRoot extends Pick<ProviderRecord, 'workspaceId' | 'type' | 'config'> {
  /** Undefined if nobody has looked, because there was nothing to compare with. */
  rootId: string | null | undefined
  /** Null for a new one. */
  id: string | null
  isEncrypted: boolean
}

/** From the contract. */
const maxIdLength = 2048

/** Returns whether a new storage of the type has to be compared with others. */
export async function isCompared(db: Database, type: string, isEncrypted: boolean): Promise<boolean> {
  return isEncrypted || (await listAllProviders(db)).some(other => other.type === type && other.encryption !== null)
}

/** Returns the id of the root of an open provider; null if it has none. */
export async function rootIdOf(provider: StorageProvider, storage: Pick<Storage, 'ask'>): Promise<string | null> {
  const id: unknown = await storage.ask(null, async call =>
    provider.rootId ? provider.rootId(call) : (await provider.stat(root, call)).fileId,
  )
  return typeof id === 'string' && id !== '' && id.length <= maxIdLength ? id : null
}

/**
 * @param storage opens the providers whose roots are not known; null compares only known ones
 * @throws INVALID_CONFIG, UNAVAILABLE
 */
export async function requireFreeRoot(db: Database, own: NewRoot, storage: Storage | null): Promise<void> {
  const others = (await listAllProviders(db)).filter(
    other => other.id !== own.id && other.type === own.type && (own.isEncrypted || other.encryption !== null),
  )
  if (own.rootId === undefined && others.length > 0) {
    throw new AppError('UNAVAILABLE', 'Another storage was connected meanwhile: try again.')
  }
  for (const other of others) {
    const otherId = other.rootId ?? (storage && (await openedRoot(other, own, storage)))
    const isSame =
      own.rootId == null || otherId === null
        ? isDeepStrictEqual(own.config, other.config)
        : overlap(own.rootId, otherId)
    if (!isSame) continue
    const name = other.workspaceId === own.workspaceId ? `"${other.name}"` : 'of another workspace'
    const which = other.encryption ? `The storage ${name}, which is encrypted, is` : `The storage ${name} is`
    const message = `${which} in the same folder, in one around it or in one below it: an encrypted storage needs a folder of its own.`
    throw new AppError('INVALID_CONFIG', message)
  }
}

/** Requires a free root again, in the transaction that stores it. Until that transaction ends, no other one stores a root. @throws as `requireFreeRoot` */
export async function requireStillFreeRoot(change: Change, own: NewRoot): Promise<void> {
  await lockRoots(change)
  await requireFreeRoot(change, own, null)
}

async function openedRoot(other: ProviderRecord, own: NewRoot, storage: Storage): Promise<string | null> {
  // Its root is compared when somebody gives consent.
  if (other.status === 'NEEDS_AUTHORIZATION') return null
  try {
    return await rootIdOf(await storage.provider(other), storage)
  } catch (cause) {
    const name = other.workspaceId === own.workspaceId ? `"${other.name}"` : 'of another workspace'
    const message = `The storage ${name} cannot be reached, so nobody knows whether the folders overlap: try again once it can.`
    throw new AppError('UNAVAILABLE', message, { cause })
  }
}

function overlap(one: string, other: string): boolean {
  const [a, b] = [one, other].map(id => (id.endsWith('/') ? id : `${id}/`)) as [string, string]
  return a.startsWith(b) || b.startsWith(a)
}
