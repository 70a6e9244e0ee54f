import { needs } from '../../auth/needs.ts'
import { formatPath } from '../../auth/path.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { at } from '../rules.ts'
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
    name: t.exposeString('name', { description: 'Without the colon.' }),
    value: t.exposeString('value', { description: 'As it is to be sent.' }),
  }),
})

const UploadTicketRef = builder.objectRef<Ticket>('UploadTicket').implement({
  description: 'The one request that uploads a file, with the file as its body.',
  fields: t => ({
    isDirect: t.exposeBoolean('isDirect', {
      description: 'True: straight to the back end, without a credential. False: here, with the credential as always.',
    }),
    method: t.exposeString('method', { description: 'PUT or POST.' }),
    url: t.exposeString('url', { description: 'Where to.' }),
    headers: t.field({
      type: [Header],
      description: 'To be sent exactly so.',
      complexity: { field: 1, multiplier: 1 },
      resolve: ({ headers }) => headers,
    }),
    path: t.exposeString('path', { description: 'Where the file will be, its name included.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the request is taken; null: as long as the credential is good.',
    }),
  }),
})

const UploadTicketInput = builder.inputType('CreateUploadTicketInput', {
  description: 'A file that is going to be uploaded.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'Of the provider.' }),
    path: t.string({ required: true, description: 'Of the file, its name included. Missing folders are made.' }),
    conflict: t.field({
      type: ConflictBehaviorEnum,
      defaultValue: 'FAIL',
      description:
        'What happens where the name is taken now. A back end that the file goes straight to replaces what has come to stand there meanwhile.',
    }),
    expiresIn: t.int({ defaultValue: 900, description: 'Seconds; the server may allow less.' }),
  }),
})

builder.mutationField('createUploadTicket', t =>
  t.field({
    type: UploadTicketRef,
    description:
      'Where and how to upload a file: straight to the back end where that can take it, else through this server.',
    authScopes: at(needs.create),
    audit: 'DIRECT_UPLOAD',
    complexity: backEndCost,
    args: { input: t.arg({ type: UploadTicketInput, required: true, description: 'The file.' }) },
    resolve: async (_root, { input }, { services, viewer, baseUrl, signal }) => {
      const { providerId, path } = input
      const conflict = input.conflict ?? 'FAIL'
      const asked = { providerId, path, conflict, expiresIn: input.expiresIn ?? 900 }
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
