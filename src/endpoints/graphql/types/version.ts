/** Earlier versions of files. */
import { formatKeptId } from '../../../auth/id.ts'
import { needs } from '../../../auth/needs.ts'
import { formatPath, nameOf } from '../../../auth/path.ts'
import { type FileEntry, impliedType } from '../../../services/files/index.ts'
import { isEarlier, type KeptVersion, maxVersionsPage, type VersionItem } from '../../../services/versions/index.ts'
import { builder } from '../builder.ts'
import { backEndCost, connectionCost } from '../cost.ts'
import { EntryRef, FileRef, findCreator, UserRef } from '../refs.ts'
import { at, atEntry, authorizedBy } from '../rules.ts'
import { ConflictBehaviorEnum } from './change-entry.ts'
import { definePage, toPage } from './page.ts'

type AnyVersion = KeptVersion | FileEntry

const Version = builder.objectRef<AnyVersion>('Version').implement({
  description: 'A version of a file: its content now, or an earlier one.',
  fields: t => ({
    id: t.id({
      description: 'The ID for `restoreVersion`, `deleteVersion` and downloads. It contains the path.',
      resolve: version => {
        const { providerId, path } = version
        return formatKeptId({ id: isEarlier(version) ? version.id : 'current', providerId, path: formatPath(path) })
      },
    }),
    isCurrent: t.boolean({
      description: 'Whether it is the content of the file now.',
      resolve: version => !isEarlier(version),
    }),
    size: t.expose('size', {
      type: 'SafeInt',
      nullable: true,
      description: 'The size in bytes, or null if the back end does not report it.',
    }),
    mimeType: t.string({
      nullable: true,
      description:
        'The type of the file; for an earlier version, the type that the name implies. Null if it is unknown.',
      resolve: version => (isEarlier(version) ? impliedType(nameOf(version.path)) : version.mimeType),
    }),
    modifiedAt: t.expose('modifiedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which this content was stored, or null if the back end does not report it.',
    }),
    replacedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'The time at which it was replaced or deleted. Null for the current one, or if the back end that keeps it does not report it.',
      resolve: version => (isEarlier(version) ? version.replacedAt : null),
    }),
    replacedBy: t.field({
      type: UserRef,
      nullable: true,
      description:
        'The person who replaced or deleted it. Null for the current one, for one that the back end keeps by itself, if they are no longer a member, or if you may not see other members.',
      authScopes: { credential: true },
      resolve: (version, _args, context) => findCreator(isEarlier(version) ? version.userId : null, context),
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'The time after which the server deletes it. Null for the current one, and for one that the back end keeps by itself, as long as that is set to.',
      resolve: version => (isEarlier(version) ? version.expiresAt : null),
    }),
    downloadUrl: t.string({
      description:
        'Returns a download link that needs no Authorization header. It works until it expires, until the credential that created it ends or loses access to the file, or until the version is restored or deleted.',
      authScopes: atEntry,
      args: {
        expiresIn: t.arg.int({ defaultValue: 300, description: 'The lifetime in seconds, at most one week.' }),
        inline: t.arg.boolean({
          defaultValue: false,
          description:
            'Whether a browser may display the file instead of saving it. Ignored for types that can run scripts.',
        }),
      },
      resolve: (version, args, context) => {
        const { services, viewer, baseUrl } = context
        const link = { expiresIn: args.expiresIn ?? 300, inline: args.inline ?? false }
        const id = isEarlier(version) ? version.id : undefined
        const ticket = services.files.link(viewer, authorizedBy(context, args, needs.read), { ...link, version: id })
        return `${baseUrl}/api/download/proxy?${new URLSearchParams({ ticket })}`
      },
    }),
  }),
})

const VersionConnection = definePage<AnyVersion>('Version', Version, 'versions of a file')
const toVersions = (page: { items: VersionItem[]; hasNext: boolean }, after: string | null | undefined) =>
  toPage(page, after, ({ version }) => version)

const pageArgs = {
  first: { defaultValue: 20, description: `The maximum number of versions, 1 to ${maxVersionsPage}.` },
  after: { description: 'The cursor after which the page starts.' },
}

builder.objectField(FileRef, 'versions', t =>
  t.field({
    type: VersionConnection,
    description:
      'Returns the versions of the file: the current one, then earlier ones, the newest first. They stay for the number and the days that `StorageProvider.versions` names.',
    authScopes: atEntry,
    complexity: ({ first }) => connectionCost(first, maxVersionsPage, backEndCost),
    args: { first: t.arg.int(pageArgs.first), after: t.arg.string(pageArgs.after) },
    resolve: async (file, args, context) => {
      const { first, after } = args
      const location = authorizedBy(context, args, needs.read)
      const page = { first: first ?? 20, after }
      return toVersions(
        await context.services.versions.list(context.viewer, location, page, file, context.signal),
        after,
      )
    },
  }),
)

builder.queryField('versions', t =>
  t.field({
    type: VersionConnection,
    description: 'Returns the earlier versions of the file at a path, the newest first, even if the file was deleted.',
    authScopes: at(needs.read),
    complexity: ({ first }) => connectionCost(first, maxVersionsPage, backEndCost),
    args: {
      providerId: t.arg.id({ required: true, description: 'The ID of the provider.' }),
      path: t.arg.string({ required: true, description: 'The path of the file.' }),
      first: t.arg.int(pageArgs.first),
      after: t.arg.string(pageArgs.after),
    },
    resolve: async (_root, args, context) => {
      const { first, after } = args
      const location = authorizedBy(context, args, needs.read)
      const page = { first: first ?? 20, after }
      return toVersions(
        await context.services.versions.list(context.viewer, location, page, null, context.signal),
        after,
      )
    },
  }),
)

const RestoreVersionInput = builder.inputType('RestoreVersionInput', {
  description: 'An earlier version that is to be restored.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the version.' }),
    conflict: t.field({
      type: ConflictBehaviorEnum,
      defaultValue: 'REPLACE',
      description:
        'The behavior if there is a file now. REPLACE keeps that as a version, if the provider keeps versions; RENAME restores the version under another name.',
    }),
  }),
})

builder.mutationFields(t => ({
  restoreVersion: t.field({
    type: EntryRef,
    description: 'Makes an earlier version the content of its file again, also if the file was deleted.',
    audit: 'RESTORE',
    authScopes: at(needs.changeVersion),
    complexity: backEndCost,
    args: { input: t.arg({ type: RestoreVersionInput, required: true, description: 'The version to restore.' }) },
    resolve: (_root, args, context) => {
      const { id, conflict } = args.input
      const input = { ...authorizedBy(context, args, needs.changeVersion), id, conflict: conflict ?? 'REPLACE' }
      return context.services.versions.restore(context.viewer, input, context.signal)
    },
  }),
  deleteVersion: t.boolean({
    description: 'Deletes an earlier version for good. Returns true at once; a server then frees the space.',
    audit: 'VERSION_DELETE',
    authScopes: at(needs.changeVersion),
    args: { id: t.arg.id({ required: true, description: 'The ID of the version.' }) },
    resolve: async (_root, args, context) => {
      const input = { ...authorizedBy(context, args, needs.changeVersion), id: args.id }
      await context.services.versions.delete(context.viewer, input, context.signal)
      return true
    },
  }),
}))
