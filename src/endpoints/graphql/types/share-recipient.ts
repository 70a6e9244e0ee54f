/** People and groups with whom something is shared, and what is shared with the viewer. */
import type { ShareRecipient } from '../../../auth/viewer.ts'
import { maxFoundRecipients, maxReceivedPage, type ReceivedShare } from '../../../services/shares/recipients.ts'
import { builder } from '../builder.ts'
import type { GraphqlContext } from '../context.ts'
import { connectionCost } from '../cost.ts'
import { definePage, toPage } from './page.ts'

const ShareRecipientKind = builder.enumType('ShareRecipientKind', {
  description: 'Whether a share is for a person or for a group.',
  values: {
    USER: { description: 'A person.' },
    GROUP: { description: 'All who are in a group, also those who join it later.' },
  } satisfies Record<ShareRecipient['kind'], { description: string }>,
})

export const ShareRecipientType = builder.objectRef<ShareRecipient>('ShareRecipient').implement({
  description: 'A person or a group of the workspace with whom something can be shared.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The ID of the person or the group.' }),
    kind: t.expose('kind', { type: ShareRecipientKind, description: 'Whether it is a person or a group.' }),
    name: t.exposeString('name', { description: 'The name; for a person without one, the email.' }),
    email: t.exposeString('email', { nullable: true, description: 'The email of a person; null for a group.' }),
  }),
})

export function urlOfShare(token: string, { baseUrl }: GraphqlContext): string {
  return `${baseUrl}/s/${token}`
}

const ReceivedShareType = builder.objectRef<ReceivedShare>('ReceivedShare').implement({
  description: 'Files and folders that somebody shares with you, or with a group that you are in.',
  fields: t => ({
    id: t.id({ description: 'The permanent ID of the share.', resolve: ({ share }) => share.id }),
    url: t.string({
      description: 'The address at which you can open the share while you are signed in.',
      authScopes: { session: true },
      resolve: ({ token }, _args, context) => urlOfShare(token, context),
    }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'The name of what is shared; null for several entries.',
    }),
    isFolder: t.boolean({ description: 'Whether one folder is shared.', resolve: ({ share }) => share.isFolder }),
    sharedBy: t.exposeString('sharedBy', { description: 'The name of the person who shares it, or their email.' }),
    note: t.string({ description: 'Their note; empty without one.', resolve: ({ share }) => share.note }),
    hasPassword: t.boolean({
      description: 'Whether the share also requires a password.',
      resolve: ({ share }) => share.passwordHash !== null,
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the share expires, or null if it does not.',
      resolve: ({ share }) => share.expiresAt,
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'The time of creation.',
      resolve: ({ share }) => share.createdAt,
    }),
  }),
})

const ReceivedShareConnection = definePage<ReceivedShare>('ReceivedShare', ReceivedShareType, 'shares with you')

builder.queryFields(t => ({
  sharesWithMe: t.field({
    type: ReceivedShareConnection,
    description:
      'Returns what others share with you and your groups, newest first. Shares that have ended, and those whose creator has lost access, are left out.',
    authScopes: { session: true },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of shares, 1 to ${maxReceivedPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxReceivedPage),
    resolve: async (_root, { first, after }, { services, viewer }) => {
      const page = await services.receivedShares.list(viewer, { first: first ?? 50, after })
      return toPage(page, after, ({ received }) => received)
    },
  }),
  shareRecipients: t.field({
    type: [ShareRecipientType],
    description: `Finds people and groups of the workspace to share with: the first ${maxFoundRecipients} in the order of their names. Service accounts, and people whom no administrator has confirmed, are left out.`,
    authScopes: { scope: 'read' },
    args: {
      search: t.arg.string({ required: true, description: 'A part of a name or an email. Empty finds all.' }),
    },
    complexity: { field: 1, multiplier: maxFoundRecipients },
    resolve: (_root, { search }, { services, viewer }) => services.receivedShares.search(viewer, search),
  }),
}))
