import { formatPath } from '../../auth/path.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { EntryRef, FileRef } from '../refs.ts'
import { atEntry } from '../rules.ts'

const Checksum = builder.objectRef<{ algorithm: string; hex: string }>('Checksum').implement({
  description: 'A checksum that the back end keeps; the server never reads a file to make one.',
  fields: t => ({
    algorithm: t.exposeString('algorithm', { description: 'md5, sha1, sha256 or crc32c.' }),
    hex: t.exposeString('hex', { description: 'Lowercase hexadecimal.' }),
  }),
})

FileRef.implement({
  description: 'A file.',
  interfaces: [EntryRef],
  fields: t => ({
    size: t.expose('size', {
      type: 'SafeInt',
      nullable: true,
      description: 'Bytes; null where the back end cannot say.',
    }),
    mimeType: t.exposeString('mimeType', {
      nullable: true,
      description: 'As the back end keeps it, else by the name; null where neither tells.',
    }),
    etag: t.exposeString('etag', {
      nullable: true,
      description: 'Opaque; equal etags of one path mean equal bytes. Null where the back end has none.',
    }),
    checksums: t.field({
      type: [Checksum],
      description: 'Those that the back end keeps, perhaps none.',
      complexity: { field: 1, multiplier: 1 },
      resolve: ({ checksums }) => Object.entries(checksums).map(([algorithm, hex]) => ({ algorithm, hex })),
    }),
    downloadUrl: t.string({
      description:
        'A link that works without a header until it expires, as long as the credential that asks for it is good and still reaches the file.',
      authScopes: atEntry,
      // A direct link is signed for each file, and each is an event of the audit log.
      complexity: ({ direct }) => (direct ? backEndCost : 1),
      args: {
        expiresIn: t.arg.int({ defaultValue: 300, description: 'Seconds, at most a week.' }),
        inline: t.arg.boolean({
          defaultValue: false,
          description: 'Whether a browser may show the file, where its type cannot run script, instead of saving it.',
        }),
        direct: t.arg.boolean({
          defaultValue: false,
          description:
            'Whether the link may lead straight to the back end, where that can make one. Such a link works until it expires, some minutes at most, whatever becomes of the credential.',
        }),
      },
      resolve: async (file, args, { services, viewer, baseUrl, signal }) => {
        const place = { ...file, path: formatPath(file.path) }
        const link = { expiresIn: args.expiresIn ?? 300, inline: args.inline ?? false }
        const straight = args.direct ? await services.files.directLink(viewer, place, link, signal) : null
        if (straight !== null) return straight
        const ticket = services.files.link(viewer, place, link)
        return `${baseUrl}/api/download/proxy?${new URLSearchParams({ ticket })}`
      },
    }),
  }),
})
