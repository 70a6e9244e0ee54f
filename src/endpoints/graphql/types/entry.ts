import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { AppError } from '../../../errors.ts'
import { entryId, type FileEntry } from '../../../services/files/index.ts'
import { builder } from '../builder.ts'
import type { GraphqlContext } from '../context.ts'
import { backEndCost } from '../cost.ts'
import { EntryRef, FileRef, FolderRef, StorageProviderRef } from '../refs.ts'
import { at, authorizedBy } from '../rules.ts'

EntryRef.implement({
  description: 'A file or a folder.',
  resolveType: entry => (entry.kind === 'file' ? FileRef : FolderRef),
  fields: t => ({
    id: t.id({ description: 'An opaque ID. It does not change while the path stays the same.', resolve: entryId }),
    provider: t.field({
      type: StorageProviderRef,
      description: 'The provider that stores the entry.',
      authScopes: { scope: 'read' },
      resolve: ({ providerId }, _args, context) => context.provider(providerId),
    }),
    path: t.string({
      description: 'The absolute path within the provider, such as /team/assets/logo.svg.',
      resolve: ({ path }) => formatPath(path),
    }),
    name: t.exposeString('name', { description: "The last segment of the path. Empty for the provider's root." }),
    modifiedAt: t.expose('modifiedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the content last changed, or null if the back end does not report it.',
    }),
  }),
})

const descriptions = {
  providerId: 'The ID of the provider.',
  path: 'The absolute path within the provider, such as /team/assets.',
}

builder.queryFields(t => ({
  entry: t.field({
    type: EntryRef,
    description: 'Returns the file or folder at a path.',
    authScopes: at(needs.read),
    complexity: backEndCost,
    args: {
      providerId: t.arg.id({ required: true, description: descriptions.providerId }),
      path: t.arg.string({ required: true, description: descriptions.path }),
    },
    resolve: (_root, args, context) => statOf(args, context),
  }),
  file: t.field({
    type: FileRef,
    description: 'Returns the file at a path.',
    authScopes: at(needs.read),
    complexity: backEndCost,
    args: {
      providerId: t.arg.id({ required: true, description: descriptions.providerId }),
      path: t.arg.string({ required: true, description: descriptions.path }),
    },
    resolve: async (_root, args, context) => requireKind(await statOf(args, context), 'file'),
  }),
  folder: t.field({
    type: FolderRef,
    description: 'Returns the folder at a path.',
    authScopes: at(needs.read),
    complexity: backEndCost,
    args: {
      providerId: t.arg.id({ required: true, description: descriptions.providerId }),
      path: t.arg.string({ required: true, defaultValue: '/', description: descriptions.path }),
    },
    resolve: async (_root, args, context) => requireKind(await statOf(args, context), 'directory'),
  }),
}))

function statOf(args: object, context: GraphqlContext): Promise<FileEntry> {
  const { services, viewer, signal } = context
  return services.files.stat(viewer, authorizedBy(context, args, needs.read), signal)
}

/** @throws NOT_A_FILE, NOT_A_FOLDER */
function requireKind(entry: FileEntry, kind: FileEntry['kind']): FileEntry {
  if (entry.kind === kind) return entry
  const path = formatPath(entry.path)
  if (kind === 'file') throw new AppError('NOT_A_FILE', `"${path}" is a folder: query it with "folder".`)
  throw new AppError('NOT_A_FOLDER', `"${path}" is a file: query it with "file".`)
}
