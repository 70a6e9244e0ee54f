import { formatPath } from '../../auth/path.ts'
import type { FileEntry } from '../../services/files/index.ts'
import { backEndCost, connectionCost } from '../cost.ts'
import { EntryRef, FolderRef } from '../refs.ts'
import { atEntry } from '../rules.ts'
import { definePage } from './page.ts'

const EntryConnection = definePage<FileEntry>('Entry', EntryRef, 'files and folders in a folder')
const maxPage = 1000

FolderRef.implement({
  description: 'A folder.',
  interfaces: [EntryRef],
  fields: t => ({
    downloadUrl: t.string({
      description:
        'A link to a ZIP file of all that is in it. It works without a header until it expires, as long as the credential that asks for it is good and still reaches the folder.',
      authScopes: atEntry,
      args: { expiresIn: t.arg.int({ defaultValue: 300, description: 'Seconds, at most a week.' }) },
      resolve: ({ providerId, path }, { expiresIn }, { services, viewer, baseUrl }) => {
        const place = { providerId, path: formatPath(path) }
        const ticket = services.files.link(viewer, place, { expiresIn: expiresIn ?? 300, inline: false })
        return `${baseUrl}/api/download/proxy?${new URLSearchParams({ ticket })}`
      },
    }),
    entries: t.field({
      type: EntryConnection,
      description: "What is in it, in the back end's order. A cursor stays good while entries come and go.",
      authScopes: atEntry,
      args: {
        first: t.arg.int({ defaultValue: 100, description: `How many at most, 1 to ${maxPage}.` }),
        after: t.arg.string({
          description: 'The cursor after which the page begins; good for this folder and credential.',
        }),
      },
      complexity: ({ first }) => connectionCost(first, maxPage, backEndCost),
      resolve: async ({ providerId, path }, { first, after }, { services, viewer, signal }) => {
        const place = { providerId, path: formatPath(path) }
        const page = await services.files.list(viewer, place, { first: first ?? 100, after }, signal)
        return {
          edges: page.items.map(({ entry, cursor }) => ({ node: entry, cursor })),
          hasNext: page.hasNext,
          hasPrevious: after != null,
        }
      },
    }),
  }),
})
