/** Tools for the earlier versions of a file. Together with the path, the short id of a version is that of the GraphQL API. */
import { z } from 'zod'
import { formatKeptId } from '../../../auth/id.ts'
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { isEarlier, maxVersionsPage } from '../../../services/versions/index.ts'
import { conflict, defineTool, hints, path, providerId } from '../tool.ts'

export const listVersions = defineTool({
  name: 'list_versions',
  title: 'List the versions of a file',
  description:
    'Lists the earlier contents of a file, or of a deleted one, the newest first. read_file reads one, and restore_version restores it.',
  annotations: hints.reads,
  needs: needs.read,
  showsData: true,
  input: z.strictObject({
    providerId,
    path,
    first: z.int().min(1).max(maxVersionsPage).default(20),
    after: z.string().optional().describe('The nextCursor of the page before'),
  }),
  output: z.object({
    versions: z.array(
      z.object({
        id: z.string(),
        size: z.number().nullable().describe('Bytes'),
        modifiedAt: z.string().nullable(),
        replacedAt: z.string().nullable(),
        expiresAt: z.string().nullable().describe('Null where the back end keeps it by itself'),
      }),
    ),
    nextCursor: z.string().nullable().describe('Null on the last page'),
  }),
  async run({ first, after, ...location }, { services, viewer, signal }) {
    const { items, hasNext } = await services.versions.list(viewer, location, { first, after }, null, signal)
    return {
      versions: items
        .map(({ version }) => version)
        .filter(isEarlier)
        .map(({ id, size, modifiedAt, replacedAt, expiresAt }) => ({
          id,
          size,
          modifiedAt: modifiedAt?.toISOString() ?? null,
          replacedAt: replacedAt?.toISOString() ?? null,
          expiresAt: expiresAt?.toISOString() ?? null,
        })),
      nextCursor: hasNext ? (items.at(-1)?.cursor ?? null) : null,
    }
  },
})

export const restoreVersion = defineTool({
  name: 'restore_version',
  title: 'Restore a version',
  description:
    'Makes an earlier version the content of its file again, also of a deleted one. What it replaces becomes a version, if the storage keeps versions.',
  annotations: hints.changes,
  needs: needs.changeVersionAt,
  audit: 'RESTORE',
  approval: {
    kind: 'OVERWRITE',
    at: ({ providerId, path, conflict }) => (conflict === 'REPLACE' ? { providerId, path } : null),
    asNew: input => ({ ...input, conflict: 'FAIL' as const }),
  },
  input: z.strictObject({
    providerId,
    path,
    version: z.string().describe('The ID of a version, from list_versions'),
    conflict: conflict.default('REPLACE'),
  }),
  output: z.object({ path: z.string() }),
  async run({ version, conflict, ...location }, { services, viewer, signal }) {
    const id = formatKeptId({ ...location, id: version })
    const restored = await services.versions.restore(viewer, { id, conflict }, signal)
    return { path: formatPath(restored.path) }
  },
})
