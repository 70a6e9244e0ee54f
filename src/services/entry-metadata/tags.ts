/** Tags of files and folders. Members who may read an entry see its tags, and members who may change it change them. */
import { timeOrderedIds } from '../../auth/id.ts'
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import { requireAccount, requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  batchedTags,
  countTags,
  deleteTags,
  insertTags,
  listTagged,
  listTags,
  lockTags,
  type TagCount,
  type TaggedEntry,
  type TagName,
} from '../../db/entry-tags.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit } from '../audit/index.ts'
import { type AskedToRead, locationOf } from '../files/entry.ts'
import { parsePageSize } from '../input.ts'
import { decodeIdCursor } from '../paging.ts'
import { type MarkedPage, toMarkedPage } from './marked-entries.ts'

export type { TagCount, TaggedEntry } from '../../db/entry-tags.ts'

export const maxTaggedPage = 200
export const maxTagsPage = 500
/** UTF-16 code units. */
export const maxTagName = 50
export const maxTagsOfEntry = 20
/** Tags of all entries of a workspace. */
const maxTags = 100_000

const controlCharacter = /\p{Cc}/u

/** @throws INVALID_INPUT */
export function parseTag(text: string): TagName {
  const name = text.trim().normalize('NFC')
  if (name === '' || name.length > maxTagName || controlCharacter.test(name) || !name.isWellFormed()) {
    throw new AppError('INVALID_INPUT', `A tag has 1 to ${maxTagName} characters and no control characters.`)
  }
  return { name, key: name.toLowerCase() }
}

/** Returns each tag once, in the spelling that comes first. @throws INVALID_INPUT */
function parseTags(texts: readonly string[]): TagName[] {
  if (texts.length > maxTagsOfEntry) throw tooManyTagsOfEntry()
  const tags = new Map<string, TagName>()
  for (const tag of texts.map(parseTag)) if (!tags.has(tag.key)) tags.set(tag.key, tag)
  return [...tags.values()]
}

export type TagChanges = Asked<typeof needs.delete> & { add: readonly string[]; remove: readonly string[] }

export function createEntryTags({ db, storage, audit }: { db: Database; storage: Storage; audit: Audit }) {
  const nextId = timeOrderedIds()
  const tagsOf = batchedTags(db)

  return {
    /** Returns the tags of an entry. The recipients of a share link see none. @throws as `authorize` */
    async of(viewer: Viewer | null, location: AskedToRead): Promise<string[]> {
      const [{ providerId, path, viewer: present }] = authorize(viewer, needs.read, location)
      return present.kind === 'SHARE' ? [] : tagsOf({ providerId, path })
    },

    /**
     * Adds tags to an entry and removes others, and returns those that it has then. The tags of an entry that is gone can only be removed.
     * @throws as `Files.stat`, INVALID_INPUT, TOO_MANY_TAGS
     */
    update(viewer: Viewer | null, input: TagChanges, signal: AbortSignal): Promise<string[]> {
      return audit.recorded(viewer, 'TAGS_UPDATE', { location: locationOf(input) }, async recording => {
        const [granted] = authorize(viewer, needs.delete, input)
        const { workspaceId, providerId, path, viewer: present } = granted
        requireAccount(present)
        const [added, removed] = [parseTags(input.add), parseTags(input.remove)]
        recording.add({ details: { added: added.map(({ name }) => name), removed: removed.map(({ name }) => name) } })
        await storage.record(granted)
        const entry = added.length === 0 ? null : await (await storage.writeAt(granted)).stat(signal)
        const at = { workspaceId, providerId, path, isFolder: entry?.kind === 'directory' }
        await recording.commit(async change => {
          await lockTags(change, workspaceId)
          await deleteTags(change, at, removed)
          await insertTags(change, at, added, () => nextId(new Date()))
          const { ofEntry, ofWorkspace } = await countTags(change, at, maxTags + 1)
          if (ofEntry > maxTagsOfEntry) throw tooManyTagsOfEntry()
          if (added.length > 0 && ofWorkspace > maxTags) throw tooManyTags()
        })
        return tagsOf({ providerId, path })
      })
    },

    /**
     * Returns one page of the tags of all entries that the viewer may access, in the order of their names.
     * @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      { first, after: cursor }: { first: number; after?: string | null | undefined },
    ): Promise<TagPage> {
      const { member, access } = requireScope(viewer, 'read')
      const limit = parsePageSize(first, maxTagsPage)
      const after = cursor == null ? null : decodeTagCursor(cursor)
      const tags = await listTags(db, { workspaceId: member.workspaceId, access }, { limit: limit + 1, after })
      const items = tags.slice(0, limit).map(tag => ({ tag, cursor: encodeTagCursor(tag) }))
      return { items, hasNext: tags.length > limit }
    },

    /**
     * Returns one page of the entries with a tag that the viewer may access, the ones that got it last first.
     * @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_CURSOR
     */
    async tagged(
      viewer: Viewer | null,
      { tag, first, after }: { tag: string; first: number; after?: string | null | undefined },
    ): Promise<MarkedPage<TaggedEntry>> {
      const { member, access } = requireScope(viewer, 'read')
      const limit = parsePageSize(first, maxTaggedPage)
      const before = after == null ? null : decodeIdCursor(after)
      const query = { workspaceId: member.workspaceId, access, key: parseTag(tag).key }
      return toMarkedPage(db, await listTagged(db, query, { limit: limit + 1, before }), limit)
    },
  }
}

export interface TagPage {
  items: { tag: TagCount; cursor: string }[]
  hasNext: boolean
}

function encodeTagCursor({ key }: TagName): string {
  return Buffer.from(key).toString('base64url')
}

/** @throws INVALID_CURSOR */
function decodeTagCursor(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url').toString()
  if (
    key === '' ||
    key.length > maxTagName * 3 ||
    controlCharacter.test(key) ||
    encodeTagCursor({ name: key, key }) !== cursor
  ) {
    throw new AppError('INVALID_CURSOR')
  }
  return key
}

function tooManyTagsOfEntry(): AppError {
  return new AppError('TOO_MANY_TAGS', `An entry has at most ${maxTagsOfEntry} tags: remove some of them.`)
}

function tooManyTags(): AppError {
  const message = `The workspace has ${maxTags} tags already: give tags to folders instead of their files.`
  return new AppError('TOO_MANY_TAGS', message)
}
