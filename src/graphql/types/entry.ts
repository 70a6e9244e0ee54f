import { needs } from '../../auth/needs.ts'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { entryId, type FileEntry } from '../../services/files/index.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { EntryRef, FileRef, FolderRef, StorageProviderRef } from '../refs.ts'
import { at } from '../rules.ts'

EntryRef.implement({
  description: 'A file or a folder.',
  resolveType: entry => (entry.kind === 'file' ? FileRef : FolderRef),
  fields: t => ({
    id: t.id({ description: 'Opaque; the same entry keeps it while it stays where it is.', resolve: entryId }),
    provider: t.field({
      type: StorageProviderRef,
      description: 'Where it is stored.',
      authScopes: { scope: 'read' },
      resolve: ({ providerId }, _args, context) => context.provider(providerId),
    }),
    path: t.string({
      description: 'Absolute within the provider: /team/assets/logo.svg',
      resolve: ({ path }) => formatPath(path),
    }),
    name: t.exposeString('name', { description: "The last part of the path; empty for the provider's root." }),
    modifiedAt: t.expose('modifiedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its content last changed; null where the back end cannot say.',
    }),
  }),
})

const place = {
  providerId: 'Of the provider.',
  path: 'Absolute within the provider: /team/assets',
}

builder.queryFields(t => ({
  entry: t.field({
    type: EntryRef,
    description: 'The file or folder at a path.',
    authScopes: at(needs.read),
    complexity: backEndCost,
    args: {
      providerId: t.arg.id({ required: true, description: place.providerId }),
      path: t.arg.string({ required: true, description: place.path }),
    },
    resolve: (_root, args, { services, viewer, signal }) => services.files.stat(viewer, args, signal),
  }),
  file: t.field({
    type: FileRef,
    description: 'The file at a path.',
    authScopes: at(needs.read),
    complexity: backEndCost,
    args: {
      providerId: t.arg.id({ required: true, description: place.providerId }),
      path: t.arg.string({ required: true, description: place.path }),
    },
    resolve: async (_root, args, { services, viewer, signal }) =>
      requireKind(await services.files.stat(viewer, args, signal), 'file'),
  }),
  folder: t.field({
    type: FolderRef,
    description: 'The folder at a path.',
    authScopes: at(needs.read),
    complexity: backEndCost,
    args: {
      providerId: t.arg.id({ required: true, description: place.providerId }),
      path: t.arg.string({ required: true, defaultValue: '/', description: place.path }),
    },
    resolve: async (_root, args, { services, viewer, signal }) =>
      requireKind(await services.files.stat(viewer, args, signal), 'directory'),
  }),
}))

/** @throws NOT_A_FILE, NOT_A_FOLDER */
function requireKind(entry: FileEntry, kind: FileEntry['kind']): FileEntry {
  if (entry.kind === kind) return entry
  const path = formatPath(entry.path)
  if (kind === 'file') throw new AppError('NOT_A_FILE', `"${path}" is a folder: ask for it with "folder".`)
  throw new AppError('NOT_A_FOLDER', `"${path}" is a file: ask for it with "file".`)
}
