/** Dead properties: XML that WebDAV clients attach to entries (RFC 4918, section 4). The server does not interpret them. */
import { authorize, needs } from '../../auth/needs.ts'
import { formatPath, type StoragePath } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  type DeadProperty,
  hasPropertiesWithin,
  listProperties,
  removeProperties,
  setProperties,
} from '../../db/webdav/properties.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { cut } from '../audit/event.ts'
import type { Audit } from '../audit/index.ts'
import type { LocationInput } from '../files/index.ts'

export type { DeadProperty } from '../../db/webdav/properties.ts'

/** The maximum number of properties of an entry. */
export const maxProperties = 100
/** Bytes of XML. */
export const maxPropertySize = 16 * 1024

export interface PropertyChanges {
  set: readonly DeadProperty[]
  remove: readonly string[]
}

/** Finds the properties of entries below a location. */
export interface PropertyReader {
  of(paths: readonly StoragePath[]): Promise<ReadonlyMap<StoragePath, readonly DeadProperty[]>>
}

const none: ReadonlyMap<StoragePath, readonly DeadProperty[]> = new Map()

export function createWebdavProperties({ db, storage, audit }: { db: Database; storage: Storage; audit: Audit }) {
  return {
    /** Returns a reader that needs one query for each of its calls, and none if nothing there has properties. */
    async reader(viewer: Viewer | null, location: LocationInput): Promise<PropertyReader> {
      const [{ providerId, path }] = authorize(viewer, needs.read, location)
      const isEmpty = !(await hasPropertiesWithin(db, providerId, path))
      return { of: async paths => (isEmpty ? none : listProperties(db, providerId, paths)) }
    },

    /** Changes all of the properties or none. The entry must exist. @throws INVALID_INPUT, as `Files.delete` */
    async update(
      viewer: Viewer | null,
      location: LocationInput,
      { set, remove }: PropertyChanges,
      signal: AbortSignal,
    ): Promise<void> {
      await audit.recorded(viewer, 'PROPERTIES_UPDATE', { location }, async recording => {
        const [granted] = authorize(viewer, needs.delete, location)
        const entry = await (await storage.writeAt(granted)).stat(signal)
        const names = [...set.map(({ name }) => name), ...remove].slice(0, maxProperties)
        recording.add({ details: { kind: entry.kind, properties: names.map(cut) } })
        requireSmall(set)
        await recording.commit(async change => {
          await removeProperties(change, granted, remove)
          if (await setProperties(change, granted, set, maxProperties)) return
          throw new AppError(
            'INVALID_INPUT',
            `"${formatPath(granted.path)}" can have at most ${maxProperties} properties.`,
          )
        })
      })
    },
  }
}

function requireSmall(properties: readonly DeadProperty[]): void {
  for (const { xml } of properties) {
    if (Buffer.byteLength(xml) <= maxPropertySize) continue
    throw new AppError('TOO_LARGE', `A property can have at most ${maxPropertySize} bytes.`)
  }
}
