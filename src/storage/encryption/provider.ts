/**
 * An encrypted storage: a provider in front of another one, which stores what this one is given in the format of rclone's crypt. The back
 * end sees neither contents nor, usually, names. The holder of the password can use rclone instead of this server.
 */
import { randomBytes } from 'node:crypto'
import {
  type ChangedEntry,
  type Entry,
  type NativeTrash,
  nameOf,
  type StorageProvider,
  type Traits,
} from '../../../adapters/contract.ts'
import { withNameRules } from '../../../adapters/name-rules.ts'
import type { EncryptionSettings } from '../../db/schema.ts'
import { largestContent, storedSize } from './blocks.ts'
import { ContentCipher } from './content.ts'
import { StoredEntries } from './entries.ts'
import { hasCode, notAFolder, nullIfMissing } from './errors.ts'
import type { EncryptionKeys } from './keys.ts'
import { type EntryKind, NameCipher } from './names.ts'
import { EncryptedReads } from './reads.ts'
import { encryptedUploads, unfinishedOf } from './resumable.ts'
import { nonceBytes, type Secretbox } from './secretbox.ts'

/**
 * @param backEnd as the adapter has opened it
 * @param options.warn receives a sentence when a listing leaves out entries
 */
export function encryptedProvider(
  backEnd: StorageProvider,
  options: {
    keys: EncryptionKeys
    settings: EncryptionSettings
    box: Secretbox
    warn: (message: string) => void
  },
): StorageProvider {
  const { keys, settings, warn } = options
  // The rules about names concern those that are stored.
  const inner = withNameRules(backEnd, warn)
  const names = new NameCipher(keys, settings)
  const entries = new StoredEntries(inner, names)
  const content = new ContentCipher(keys.content, options.box)
  const reads = new EncryptedReads(inner, entries, content)
  const { copy, copySmall, move, deleteTree, readSmall, setModifiedAt, quota, rootId, changes, resumable, trash } =
    inner
  const uploads = resumable && encryptedUploads(resumable, { entries, content })

  return {
    traits: traitsOf(inner.traits),

    stat: (path, call) => entries.stat(path, call),

    async list(path, { from: _start, ...options }) {
      const isFile = async () => entries.isAmbiguous(path) && (await entries.stat(path, options)).kind === 'file'
      const page = await inner.list(names.toStored(path, 'directory'), options).catch(async error => {
        throw hasCode(error, 'NOT_FOUND') && (await isFile()) ? notAFolder() : error
      })
      // Where no folder exists without entries, a list of nothing may be that of a file.
      if (page.entries.length === 0 && options.cursor === undefined && !inner.traits.emptyDirectories) {
        if (await isFile().catch(() => false)) throw notAFolder()
      }
      const listed = page.entries.flatMap((entry): Entry[] => {
        const name = names.plainName(entry.name, entry.kind)
        return name === null ? [] : [entries.plain(entry, name)]
      })
      const omitted = page.entries.length - listed.length
      if (omitted > 0) warn(`Omitted from a listing, because their names cannot be decrypted: ${omitted}.`)
      return { ...page, entries: listed }
    },

    read: (path, options) => reads.read(path, options),

    async write(path, body, { mimeType: _type, size, unfinished, ...options }) {
      try {
        await entries.refuseOther(path, 'file', options)
        const sealed = content.sealed(body, { nonce: randomBytes(nonceBytes), first: 0 })
        const written = await entries.creating(path, 'file', stored =>
          inner.write(stored, sealed, {
            ...entries.keepStored(options),
            ...(size !== undefined && { size: storedSize(size) }),
            ...(unfinished && { unfinished: unfinishedOf(unfinished) }),
          }),
        )
        return entries.plain(written, nameOf(path))
      } catch (error) {
        body.destroy()
        throw error
      }
    },

    async delete(path, { entry, ...call }) {
      const kind = await entries.kindOf(path, call).catch(nullIfMissing)
      if (kind === null) return
      const stored = names.toStored(path, kind)
      // An entry of another kind was stored elsewhere.
      const isSame = !entries.isAmbiguous(path) || entry?.kind === kind
      await inner.delete(stored, { ...call, ...(isSame && entries.stored(entry, stored)) })
    },

    async mkdir(path, options) {
      await entries.refuseOther(path, 'directory', { signal: options.signal, overwrite: false })
      await entries.creating(path, 'directory', stored => inner.mkdir(stored, options))
    },

    ...(deleteTree && {
      async deleteTree(path, call) {
        const kind = await entries.kindOf(path, call).catch(nullIfMissing)
        if (kind !== null) await deleteTree.call(inner, names.toStored(path, kind), call)
      },
    }),

    ...(readSmall && {
      async readSmall(path, { maxBytes, signal }) {
        const stored = names.toStored(path, 'file')
        const file = await readSmall.call(inner, stored, { signal, maxBytes: storedSize(maxBytes) })
        const bytes = file && content.openBytes(file.bytes)
        return file && bytes && { entry: entries.plain(file.entry, nameOf(path)), bytes }
      },
    }),

    ...(copy && {
      async copy(from, to, { entry, unfinished, ...replacing }) {
        await entries.refuseOther(to, 'file', replacing)
        const stored = names.toStored(from, 'file')
        const options = {
          ...entries.keepStored(replacing),
          ...entries.stored(entry, stored),
          ...(unfinished && { unfinished: unfinishedOf(unfinished) }),
        }
        const copied = await entries
          .creating(to, 'file', target => copy.call(inner, stored, target, options))
          .catch(async error => {
            throw await entries.explained(from, error, { signal: replacing.signal })
          })
        return entries.plain(copied, nameOf(to))
      },
    }),

    ...(copySmall && {
      async copySmall(from, to, given, call) {
        // A folder could have one of these names without the back end knowing.
        const isPlain = (name: string) => names.storedName(name, 'file') === names.storedName(name, 'directory')
        const chosen = given.filter(isPlain)
        if (chosen.length === 0) return given.map(() => null)
        const stored = chosen.map(name => names.storedName(name, 'file'))
        const [source, target] = [names.toStored(from, 'directory'), names.toStored(to, 'directory')]
        const copies = await copySmall.call(inner, source, target, stored, call)
        const copied = new Map(chosen.map((name, index) => [name, copies[index] ?? null]))
        return given.map(name => {
          const entry = copied.get(name) ?? null
          return entry && entries.plain(entry, name)
        })
      },
    }),

    ...(move && {
      async move(from, to, { entry, signal, ...replacing }) {
        const isAmbiguous = entries.isAmbiguous(from) || entries.isAmbiguous(to)
        const kind = isAmbiguous ? (await entries.stat(from, { signal })).kind : (entry?.kind ?? 'file')
        await entries.refuseOther(to, kind, { signal, overwrite: replacing.overwrite })
        const stored = names.toStored(from, kind)
        const known = entry?.kind === kind ? entries.stored(entry, stored) : {}
        const options = { signal, ...entries.keepStored(replacing), ...known }
        const moved = await entries.creating(to, kind, target => move.call(inner, stored, target, options))
        return entries.plain(moved, nameOf(to))
      },
    }),

    ...(setModifiedAt && {
      async setModifiedAt(path, modifiedAt, call) {
        const stored = names.toStored(path, await entries.kindOf(path, call))
        await setModifiedAt.call(inner, stored, modifiedAt, call)
      },
    }),

    ...(rootId && { rootId: call => rootId.call(inner, call) }),
    ...(quota && { quota: call => quota.call(inner, call) }),

    ...(changes && {
      async changes(cursor, call) {
        const page = await changes.call(inner, cursor, call)
        if (page === null || page.changed === 'everything') return page
        return { ...page, changed: page.changed.flatMap(change => plainChange(names, change)) }
      },
    }),

    ...(uploads && { resumable: uploads }),
    ...(trash && { trash: encryptedTrash(trash, entries) }),

    close: async () => inner.close?.(),
  }
}

/** Without what concerns the stored names and contents. */
function traitsOf({
  listOrder: _order,
  storedChecksum: _checksum,
  forbiddenInNames: _inside,
  forbiddenAtEndOfNames: _atEnd,
  reservedNames: _reserved,
  singleLineNames: _lines,
  maxFileSize,
  ...traits
}: Traits): Traits {
  return { ...traits, ...(maxFileSize !== undefined && { maxFileSize: largestContent(maxFileSize) }) }
}

/** A change is reported under the path of a file if that can be one. Files of other storages are left out. */
function plainChange(names: NameCipher, { path: stored, ...change }: ChangedEntry): ChangedEntry[] {
  const path = stored && (names.fromStored(stored, 'file') ?? names.fromStored(stored, 'directory'))
  if (path === null || path === undefined) return change.fileId === undefined ? [] : [change]
  return [{ path, ...change }]
}

/** The id says the kind of the entry, which decides under which name it comes back. */
function encryptedTrash(trash: NativeTrash, entries: StoredEntries): NativeTrash {
  const { names } = entries
  const kindIn = (id: string): EntryKind => (id.startsWith('d') ? 'directory' : 'file')
  return {
    async identify(path, call) {
      const { kind } = await entries.stat(path, call)
      return `${kind === 'directory' ? 'd' : 'f'}${await trash.identify(names.toStored(path, kind), call)}`
    },
    put: (id, path, call) => trash.put(id.slice(1), names.toStored(path, kindIn(id)), call),
    has: (id, call) => trash.has(id.slice(1), call),
    async restore(id, to, call) {
      const kind = kindIn(id)
      await entries.refuseOther(to, kind, { ...call, overwrite: false })
      const restored = await entries.creating(to, kind, stored => trash.restore(id.slice(1), stored, call))
      return entries.plain(restored, nameOf(to))
    },
    remove: (id, call) => trash.remove(id.slice(1), call),
  }
}
