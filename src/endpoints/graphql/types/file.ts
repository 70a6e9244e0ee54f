import { needs } from '../../../auth/needs.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { EntryRef, FileRef } from '../refs.ts'
import { atEntry, authorizedBy } from '../rules.ts'

const Checksum = builder.objectRef<{ algorithm: string; hex: string }>('Checksum').implement({
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
      type: [Checksum],
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
