/**
 * The types of the schema, in a file for each subject. The arguments of a field enter, parsed by their scalars. A field
 * authorizes them with `authScopes` and calls a service, and the result leaves as an object of the schema.
 *
 * This file has files and folders.
 */
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { AppError } from '../../../errors.ts'
import type { ChangeOrigin, EntryChange, EntryChangeKind, EntryEvent } from '../../../services/events/index.ts'
import { entryId, type FileEntry, type FolderUsage } from '../../../services/files/index.ts'
import { builder } from '../builder.ts'
import type { GraphqlContext } from '../context.ts'
import { backEndCost, connectionCost } from '../cost.ts'
import { EntryRef, FileRef, FolderRef, StorageProviderRef } from '../refs.ts'
import { at, atEntry, authorizedBy } from '../rules.ts'
import { LocationInput } from './job.ts'
import { definePage, toPage } from './page.ts'

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

export const ChecksumRef = builder.objectRef<{ algorithm: string; hex: string }>('Checksum').implement({
  description: 'A checksum that the back end stores. The server never reads a file to compute one.',
  fields: t => ({
    algorithm: t.exposeString('algorithm', { description: 'The algorithm: md5, sha1, sha256 or crc32c.' }),
    hex: t.exposeString('hex', { description: 'The checksum in lowercase hexadecimal.' }),
  }),
})

FileRef.implement({
  description: 'A file.',
  interfaces: [EntryRef],
  fields: t => ({
    size: t.expose('size', {
      type: 'SafeInt',
      nullable: true,
      description: 'The size in bytes, or null if the back end does not report it.',
    }),
    mimeType: t.exposeString('mimeType', {
      nullable: true,
      description:
        'The type that the back end stores, or else the type that the name implies. Null if both are unknown.',
    }),
    etag: t.exposeString('etag', {
      nullable: true,
      description: 'An opaque version. Equal etags at one path mean equal bytes. Null if the back end has no etags.',
    }),
    checksums: t.field({
      type: [ChecksumRef],
      description: 'The checksums that the back end stores. May be empty.',
      complexity: { field: 1, multiplier: 1 },
      resolve: ({ checksums }) => Object.entries(checksums).map(([algorithm, hex]) => ({ algorithm, hex })),
    }),
    downloadUrl: t.string({
      description:
        'Returns a download link that needs no Authorization header. It works until it expires, or until the credential that created it ends or loses access to the file.',
      authScopes: atEntry,
      // Each direct link is signed separately and recorded in the audit log.
      complexity: ({ direct }) => (direct ? backEndCost : 1),
      args: {
        expiresIn: t.arg.int({ defaultValue: 300, description: 'The lifetime in seconds, at most one week.' }),
        inline: t.arg.boolean({
          defaultValue: false,
          description:
            'Whether a browser may display the file instead of saving it. Ignored for types that can run scripts.',
        }),
        direct: t.arg.boolean({
          defaultValue: false,
          description:
            'Whether to return a link directly to the back end, if the back end supports it. Such a link works until it expires, for a few minutes at most, even if the credential ends.',
        }),
      },
      resolve: async ({ name, mimeType }, args, context) => {
        const { services, viewer, baseUrl, signal } = context
        const location = authorizedBy(context, args, needs.read)
        const link = { expiresIn: args.expiresIn ?? 300, inline: args.inline ?? false }
        const direct = args.direct
          ? await services.files.directLink(viewer, { ...location, name, mimeType }, link, signal)
          : null
        if (direct !== null) return direct
        const ticket = services.files.link(viewer, location, link)
        return `${baseUrl}/api/download/proxy?${new URLSearchParams({ ticket })}`
      },
    }),
  }),
})

builder.objectField(FileRef, 'thumbnailUrl', t =>
  t.string({
    nullable: true,
    description:
      'The address of a small image of the file, which needs no Authorization header. It works for 12 to 24 hours, and only while the credential that asked for it may read the file. Null if files with such a name have none; the address responds with NO_THUMBNAIL if the content cannot be shown.',
    authScopes: atEntry,
    args: {
      size: t.arg.int({ defaultValue: 256, description: 'The longest side in pixels, 64 to 1024.' }),
    },
    resolve: async ({ name }, args, context) => {
      const { services, viewer, baseUrl } = context
      const ticket = await services.thumbnails.link(viewer, authorizedBy(context, args, needs.read), name)
      const size = String(args.size ?? 256)
      return ticket && `${baseUrl}/api/thumbnail?${new URLSearchParams({ ticket, size })}`
    },
  }),
)

/** Each may list thousands of folders, so a document can ask for a few. */
const usageCost = 25_000

const FolderUsageType = builder.objectRef<FolderUsage>('FolderUsage').implement({
  description: 'The size of a folder with everything below it.',
  fields: t => ({
    files: t.exposeInt('files', { description: 'The number of files.' }),
    folders: t.exposeInt('folders', { description: 'The number of folders.' }),
    bytes: t.expose('bytes', { type: 'SafeInt', description: 'The bytes of all files whose size is known.' }),
    isComplete: t.exposeBoolean('isComplete', {
      description:
        'False if there is more: counting ends after 20,000 entries or ten seconds, and leaves out what cannot be read.',
    }),
  }),
})

const EntryConnection = definePage<FileEntry>('Entry', EntryRef, 'files and folders in a folder')
const maxPage = 1000

FolderRef.implement({
  description: 'A folder.',
  interfaces: [EntryRef],
  fields: t => ({
    downloadUrl: t.string({
      description:
        'Returns a link to a ZIP file of everything in the folder. It needs no Authorization header. It works until it expires, or until the credential that created it ends or loses access to the folder.',
      authScopes: atEntry,
      args: { expiresIn: t.arg.int({ defaultValue: 300, description: 'The lifetime in seconds, at most one week.' }) },
      resolve: (_folder, args, context) => {
        const { services, viewer, baseUrl } = context
        const link = { expiresIn: args.expiresIn ?? 300, inline: false }
        const ticket = services.files.link(viewer, authorizedBy(context, args, needs.read), link)
        return `${baseUrl}/api/download/proxy?${new URLSearchParams({ ticket })}`
      },
    }),
    usage: t.field({
      type: FolderUsageType,
      description: 'Counts everything in the folder and below it now, within limits.',
      authScopes: atEntry,
      complexity: usageCost,
      resolve: (_folder, args, context) =>
        context.services.files.usage(context.viewer, authorizedBy(context, args, needs.read), context.signal),
    }),
    entries: t.field({
      type: EntryConnection,
      description:
        "Returns the entries of the folder in the back end's order. A cursor stays valid while entries are added and removed.",
      authScopes: atEntry,
      args: {
        first: t.arg.int({ defaultValue: 100, description: `The maximum number of entries, 1 to ${maxPage}.` }),
        after: t.arg.string({
          description: 'The cursor after which the page starts. It is valid for this folder and credential.',
        }),
      },
      complexity: ({ first }) => connectionCost(first, maxPage, backEndCost),
      resolve: async (_folder, args, context) => {
        const { services, viewer, signal } = context
        const { first, after } = args
        const location = authorizedBy(context, args, needs.read)
        const page = await services.files.list(viewer, location, { first: first ?? 100, after }, signal)
        return toPage(page, after, ({ entry }) => entry)
      },
    }),
  }),
})

const changeKindValues: Record<EntryChangeKind, { description: string }> = {
  WRITTEN: { description: 'A file or folder was created or replaced at the path, with everything below it.' },
  REMOVED: { description: 'The file or folder at the path was deleted or moved away, with everything below it.' },
  TREE_CHANGED: {
    description: 'Any number of entries at the path and below it may have changed: list them again.',
  },
}
const EntryChangeKindEnum = builder.enumType('EntryChangeKind', {
  description: 'A kind of change of an entry.',
  values: changeKindValues,
})

const changeOriginValues: Record<ChangeOrigin, { description: string }> = {
  STOWAGE: { description: 'The change was made through Stowage.' },
  OUTSIDE: { description: 'Somebody has made the change directly at the back end.' },
}
const ChangeOriginEnum = builder.enumType('ChangeOrigin', {
  description: 'Who has made a change of an entry.',
  values: changeOriginValues,
})

const EntryChangeType = builder.objectRef<EntryChange>('EntryChange').implement({
  description: 'A change of a file or folder.',
  fields: t => ({
    kind: t.expose('kind', { type: EntryChangeKindEnum, description: 'The kind of the change.' }),
    origin: t.expose('origin', { type: ChangeOriginEnum, description: 'Who has made the change.' }),
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    path: t.string({ description: 'The path of the entry.', resolve: ({ path }) => formatPath(path) }),
    at: t.expose('at', { type: 'DateTime', description: 'The time of the change.' }),
  }),
})

builder.subscriptionField('entryChanged', t =>
  t.field({
    type: EntryChangeType,
    description:
      'Returns the changes of a file or folder, and of everything below it. Changes that others make directly at the back end are among them if the provider has a catalogue. Begins with TREE_CHANGED when changes are received from then on, and repeats it whenever some may have been missed: list the folder each time, and no change is lost.',
    authScopes: at(needs.follow),
    args: {
      providerId: t.arg.id({ required: true, description: 'The ID of the provider.' }),
      path: t.arg.string({ required: true, description: 'The path of the file or folder.' }),
      others: t.arg({
        type: [LocationInput],
        description: 'Up to 49 other locations to follow, each as the first.',
      }),
    },
    subscribe: (_root, args, context) =>
      context.services.events.followEntries(context.viewer, authorizedBy(context, args, needs.follow), context.signal),
    resolve: ({ change }: EntryEvent) => change,
  }),
)
