import { needs } from '../../../auth/needs.ts'
import type { FileEntry, FolderUsage } from '../../../services/files/index.ts'
import { builder } from '../builder.ts'
import { backEndCost, connectionCost } from '../cost.ts'
import { EntryRef, FolderRef } from '../refs.ts'
import { atEntry, authorizedBy } from '../rules.ts'
import { definePage, toPage } from './page.ts'

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
