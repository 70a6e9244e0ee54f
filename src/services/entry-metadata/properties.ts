/**
 * Properties that clients attach to entries: XML that the server stores and does not interpret. Properties, locks, versions, stars and tags
 * follow their entries, whichever front end changes those.
 */
import { authorize, needs } from '../../auth/needs.ts'
import { parsePath, type StoragePath } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { deleteLocksWithin } from '../../db/entry-locks.ts'
import { deleteMarksWithin, moveMarks } from '../../db/entry-marks.ts'
import {
  copyProperties,
  deletePropertiesWithin,
  type EntryProperty,
  hasPropertiesWithin,
  listProperties,
  lockProperties,
  removeProperties,
  setProperties,
} from '../../db/entry-properties.ts'
import { moveVersions, removeVersionsWithin } from '../../db/file-versions.ts'
import type { JobRecord } from '../../db/jobs/jobs.ts'
import type { JobState, StoredLocation } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { cut } from '../audit/event.ts'
import type { Audit } from '../audit/index.ts'
import type { LocationInput } from '../files/entry.ts'

export type { EntryProperty } from '../../db/entry-properties.ts'

/** The maximum number of properties of an entry. */
const maxProperties = 100
/** Bytes of XML of all properties of an entry. Entries from before this limit can have more. */
export const maxPropertiesSize = 64 * 1024
/** Bytes of properties that are loaded at once, unless one entry alone has more. */
const maxBatch = 1024 * 1024

export interface PropertyChanges {
  set: readonly EntryProperty[]
  remove: readonly string[]
}

type Located = { path: StoragePath }

/** The properties of the entries that have any. */
export type EntryProperties = ReadonlyMap<StoragePath, readonly EntryProperty[]>

interface PropertyBatch<Entry extends Located> {
  entries: readonly Entry[]
  properties: EntryProperties
}

/** Finds the properties of entries below a location. */
export interface PropertyReader {
  /** Yields all of the entries, in batches whose properties are bounded. */
  batches<Entry extends Located>(entries: readonly Entry[]): AsyncIterable<PropertyBatch<Entry>>
}

const none: EntryProperties = new Map()

/** Finds no properties. */
export const noProperties: PropertyReader = {
  async *batches(entries) {
    yield { entries, properties: none }
  },
}

export function createEntryProperties({ db, storage, audit }: { db: Database; storage: Storage; audit: Audit }) {
  return {
    /**
     * Returns a reader that needs one query for each batch, and none if nothing there has properties. The entries of one call are
     * one batch, unless their properties are large.
     */
    async reader(viewer: Viewer | null, location: LocationInput): Promise<PropertyReader> {
      const [{ providerId, path }] = authorize(viewer, needs.read, location)
      if (!(await hasPropertiesWithin(db, providerId, path))) return noProperties
      return {
        async *batches(entries) {
          let rest = entries
          while (rest.length > 0) {
            const paths = rest.map(entry => entry.path)
            const { properties, isAll } = await listProperties(db, providerId, paths, maxBatch)
            yield { entries: isAll ? rest : rest.filter(entry => properties.has(entry.path)), properties }
            rest = isAll ? [] : rest.filter(entry => !properties.has(entry.path))
          }
        },
      }
    },

    /** Changes all of the properties or none. The entry must exist. @throws QUOTA_EXCEEDED, as `Files.delete` */
    async update(
      viewer: Viewer | null,
      location: LocationInput,
      { set, remove }: PropertyChanges,
      signal: AbortSignal,
    ): Promise<void> {
      await audit.recorded(viewer, 'PROPERTIES_UPDATE', { location }, async recording => {
        const [granted] = authorize(viewer, needs.delete, location)
        const at = await storage.writeAt(granted)
        await at.requireChangeable()
        const entry = await at.stat(signal)
        const names = [...set.map(({ name }) => name), ...remove].slice(0, maxProperties)
        recording.add({ details: { kind: entry.kind, properties: names.map(cut) } })
        const max = { count: maxProperties, bytes: maxPropertiesSize }
        await recording.commit(async change => {
          await lockProperties(change, granted)
          await removeProperties(change, granted, remove)
          if (!(await setProperties(change, granted, set, max))) throw tooManyProperties()
        })
      })
    },
  }
}

export function tooManyProperties(): AppError {
  const limits = `${maxProperties} properties, with ${maxPropertiesSize / 1024} KiB in all`
  return new AppError(
    'QUOTA_EXCEEDED',
    `An entry can have at most ${limits}: remove some of them, or set shorter ones.`,
  )
}

interface MetadataLocation {
  providerId: string
  path: StoragePath
}

/** Call these after the change. Give the begin of a deletion with `since` if it took long: what was created meanwhile keeps its own. */
export interface EntryMetadata {
  /** @param options.isPermanent whether nothing of the entry is kept, so that its versions go, too */
  deleted(at: MetadataLocation, options: { isPermanent: boolean; since?: Date | null }): Promise<void>
  /** The entries that a job has moved are gone. Its steps have moved the versions, the stars and the tags. */
  emptied(at: MetadataLocation): Promise<void>
  copied(from: MetadataLocation, to: MetadataLocation): Promise<void>
  moved(from: MetadataLocation, to: MetadataLocation): Promise<void>
}

/** A failure does not undo the change of the entry, so it is only reported. */
export function createEntryMetadata({
  db,
  onError,
}: {
  db: Database
  onError: (error: unknown) => void
}): EntryMetadata {
  async function deleted(at: MetadataLocation): Promise<void> {
    await deleteLocksWithin(db, at.providerId, at.path)
    await deletePropertiesWithin(db, at)
  }

  async function copied(from: MetadataLocation, to: MetadataLocation): Promise<void> {
    await deletePropertiesWithin(db, to)
    await copyProperties(db, from, to)
  }

  async function moved(from: MetadataLocation, to: MetadataLocation): Promise<void> {
    await moveVersions(db, [{ from, to }], null)
    await moveMarks(db, [{ from, to }], null)
    await copied(from, to)
    await deleted(from)
  }

  return {
    deleted: (at, { isPermanent, since = null }) =>
      deleted(at)
        .then(() => deleteMarksWithin(db, at, since))
        .then(() => (isPermanent ? removeVersionsWithin(db, at, since) : undefined))
        .catch(onError),
    emptied: at => deleted(at).catch(onError),
    copied: (from, to) => copied(from, to).catch(onError),
    moved: (from, to) => moved(from, to).catch(onError),
  }
}

/**
 * Lets locks, properties, versions, stars and tags follow what a job has done. A mutation's job has one source and its exact target. Other
 * jobs can give their entries new names, so the properties of what they move end with it, and their steps move the rest.
 */
export async function followJob(data: EntryMetadata, job: JobRecord, state: JobState): Promise<void> {
  if (state !== 'SUCCEEDED' || job.dryRun) return
  const [source] = job.sources
  const since = job.startedAt
  const target = job.isAtomic && job.target
  if (source && target && job.kind === 'COPY') return data.copied(locate(source), locate(target))
  if (source && target && job.kind === 'MOVE') return data.moved(locate(source), locate(target))
  if (job.kind === 'MOVE') for (const each of job.sources) await data.emptied(locate(each))
  if (job.kind !== 'DELETE') return
  for (const each of job.sources) await data.deleted(locate(each), { isPermanent: job.permanent, since })
}

function locate({ providerId, path }: StoredLocation) {
  return { providerId, path: parsePath(path) }
}
