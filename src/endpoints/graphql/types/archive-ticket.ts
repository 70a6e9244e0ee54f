import { needs } from '../../../auth/needs.ts'
import { maxSelected } from '../../../services/files/index.ts'
import { builder } from '../builder.ts'
import { at } from '../rules.ts'

/** A ticket contains all paths, so few fit into one response. */
const ticketCost = 25_000

const ArchiveTicketInput = builder.inputType('ArchiveTicketInput', {
  description: 'Files and folders of one provider.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    paths: t.stringList({
      required: true,
      description: `The absolute paths of the files and folders, 1 to ${maxSelected}.`,
    }),
    expiresIn: t.int({ defaultValue: 300, description: 'The lifetime of the ticket in seconds, at most one week.' }),
  }),
})

builder.queryField('archiveTicket', t =>
  t.string({
    description:
      'Returns a ticket for one ZIP file of several files and folders. Send it as the field `ticket` of a form to `POST /api/download/archive`, which needs no Authorization header. It works until it expires, or until the credential that created it ends or loses access to any of the paths.',
    authScopes: at(needs.readAll),
    complexity: ticketCost,
    args: { input: t.arg({ type: ArchiveTicketInput, required: true, description: 'The files and folders.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      services.files.archiveTicket(viewer, input, input.expiresIn ?? 300),
  }),
)
