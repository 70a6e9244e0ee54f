import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { maxSelected } from '../../../services/files/index.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { at, authorizedBy } from '../rules.ts'
import { ConflictBehaviorEnum } from './change-entry.ts'

interface Ticket {
  isDirect: boolean
  method: 'PUT' | 'POST'
  url: string
  headers: { name: string; value: string }[]
  path: string
  expiresAt: Date | null
}

const Header = builder.objectRef<Ticket['headers'][number]>('HttpHeader').implement({
  description: 'A header of an HTTP request.',
  fields: t => ({
    name: t.exposeString('name', { description: 'The name of the header.' }),
    value: t.exposeString('value', { description: 'The value of the header.' }),
  }),
})

const UploadTicketRef = builder.objectRef<Ticket>('UploadTicket').implement({
  description: 'The HTTP request that uploads a file. The file is the body.',
  fields: t => ({
    isDirect: t.exposeBoolean('isDirect', {
      description:
        'True: send the request directly to the back end, without your credential. False: send it to this server with your credential.',
    }),
    method: t.exposeString('method', { description: 'The HTTP method: PUT or POST.' }),
    url: t.exposeString('url', { description: 'The URL.' }),
    headers: t.field({
      type: [Header],
      description: 'The headers. Send them exactly as they are.',
      complexity: { field: 1, multiplier: 1 },
      resolve: ({ headers }) => headers,
    }),
    path: t.exposeString('path', { description: 'The path of the new file, including its name.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'The time until which the request is accepted. Null if it is accepted as long as the credential is valid.',
    }),
  }),
})

const UploadTicketInput = builder.inputType('CreateUploadTicketInput', {
  description: 'The file to upload.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({
      required: true,
      description: 'The path of the new file, including its name. Missing folders are created.',
    }),
    conflict: t.field({
      type: ConflictBehaviorEnum,
      defaultValue: 'FAIL',
      description:
        'The behavior if the name is taken now. A direct upload replaces a file that is stored there afterwards.',
    }),
    expiresIn: t.int({ defaultValue: 900, description: 'The lifetime in seconds. The server may shorten it.' }),
  }),
})

builder.mutationField('createUploadTicket', t =>
  t.field({
    type: UploadTicketRef,
    description:
      'Returns the request with which to upload a file: directly to the back end if it supports that, otherwise through this server.',
    authScopes: at(needs.create),
    audit: 'DIRECT_UPLOAD',
    complexity: backEndCost,
    args: { input: t.arg({ type: UploadTicketInput, required: true, description: 'The file to upload.' }) },
    resolve: async (_root, args, context) => {
      const { services, viewer, baseUrl, signal } = context
      const { providerId, path } = args.input
      const conflict = args.input.conflict ?? 'FAIL'
      const expiresIn = args.input.expiresIn ?? 900
      const asked = { ...authorizedBy(context, args, needs.create), conflict, expiresIn }
      const direct = await services.files.uploadTicket(viewer, asked, signal)
      if (!direct) {
        const query = new URLSearchParams({ providerId, path, conflict: conflict.toLowerCase() })
        const url = `${baseUrl}/api/upload/proxy?${query}`
        return { isDirect: false, method: 'POST' as const, url, headers: [], path, expiresAt: null }
      }
      return {
        isDirect: true,
        method: 'PUT' as const,
        url: direct.url.href,
        headers: Object.entries(direct.headers).map(([name, value]) => ({ name, value })),
        path: formatPath(direct.path),
        expiresAt: direct.expiresAt,
      }
    },
  }),
)

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
