/** Tools that find files and folders. */
import { z } from 'zod'
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { defineTool, hints, listedByName, listedByPath, path, providerId, toListed, toListedByPath } from '../tool.ts'

/** The maximum number of entries in one result, which a model has to read. */
const maxEntries = 200

export const listProviders = defineTool({
  name: 'list_providers',
  title: 'List providers',
  description:
    'Lists the storages that this key may use, each with the topmost folders that it may use there, and whether its back end sees only encrypted files.',
  annotations: hints.reads,
  needs: [],
  showsData: true,
  input: z.strictObject({}),
  output: z.object({
    providers: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        type: z.string(),
        isEncrypted: z.boolean(),
        topFolders: z.array(z.string()),
      }),
    ),
  }),
  async run(_input, { services, viewer }) {
    const records = await services.providers.list(viewer)
    return {
      providers: records.map(({ id, name, type, encryption }) => {
        const topFolders = services.files.tops(viewer, id).map(top => formatPath(top.path))
        return { id, name, type, isEncrypted: encryption !== null, topFolders }
      }),
    }
  },
})

export const listFolder = defineTool({
  name: 'list_folder',
  title: 'List a folder',
  description: 'Lists the files and folders in a folder, one page at a time.',
  annotations: hints.reads,
  needs: needs.read,
  showsData: true,
  input: z.strictObject({
    providerId,
    path,
    first: z.int().min(1).max(maxEntries).default(100),
    after: z.string().optional().describe('The nextCursor of the page before'),
  }),
  output: z.object({
    entries: z.array(listedByName),
    nextCursor: z.string().nullable().describe('Null on the last page'),
  }),
  async run({ first, after, ...location }, { services, viewer, signal }) {
    const { items, hasNext } = await services.files.list(viewer, location, { first, after }, signal)
    const last = items.at(-1)
    return {
      entries: items.map(({ entry }) => ({ name: entry.name, ...toListed(entry) })),
      nextCursor: hasNext && last ? last.cursor : null,
    }
  },
})

export const stat = defineTool({
  name: 'stat',
  title: 'Describe an entry',
  description:
    'Returns the facts about one file or folder, with its version (etag) and stored checksums, and the space that quotas leave.',
  annotations: hints.reads,
  needs: needs.read,
  showsData: true,
  input: z.strictObject({ providerId, path }),
  output: listedByPath.extend({
    mimeType: z.string().nullable(),
    etag: z.string().nullable(),
    checksums: z.record(z.string(), z.string()),
    bytesLeft: z.number().nullable().describe('The bytes that can still be stored there; null if no quota says'),
  }),
  async run(location, { services, viewer, signal }) {
    const entry = await services.files.stat(viewer, location, signal)
    const { mimeType, etag, checksums } = entry
    const space = await services.quotas.spaceAt(viewer, location)
    const bytesLeft = space?.available ?? null
    return { ...toListedByPath(entry), mimeType, etag, checksums: { ...checksums }, bytesLeft }
  },
})
