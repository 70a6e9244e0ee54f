import { formatPath } from '../../../auth/path.ts'
import type { ShareKind, ShareRecipient } from '../../../auth/viewer.ts'
import type { ShareRecord } from '../../../db/shares/shares.ts'
import {
  maxActiveShares,
  maxSharedPaths,
  maxSharesPage,
  type ShareState,
  shareState,
} from '../../../services/shares/index.ts'
import { maxShareRecipients } from '../../../services/shares/recipients.ts'
import { maxFileTypes, maxNote, maxRecipients, minSharePassword } from '../../../services/shares/settings.ts'
import { builder } from '../builder.ts'
import { connectionCost, recipientsCost } from '../cost.ts'
import { findCreator, UserRef } from '../refs.ts'
import { atShare, notALocation } from '../rules.ts'
import { definePage, toPage } from './page.ts'
import { ShareRecipientType, urlOfShare } from './share-recipient.ts'

const kindValues: Record<ShareKind, { description: string }> = {
  VIEW: { description: 'The link reads the shared files and folders, and downloads them.' },
  DROP: {
    description: 'The link adds files to the shared folder. It shows nothing that is there, and replaces nothing.',
  },
}
const ShareKindEnum = builder.enumType('ShareKind', {
  description: 'The rights that a share link gives.',
  values: kindValues,
})

const ShareStateEnum = builder.enumType('ShareState', {
  description: 'Whether a share link works. It also stops when the person who made it loses access.',
  values: {
    ACTIVE: { value: 'active', description: 'The link works.' },
    EXPIRED: { value: 'expired', description: 'The link has expired.' },
    REVOKED: { value: 'revoked', description: 'The link was revoked.' },
    USED_UP: { value: 'used up', description: 'The link has reached its limit of downloads.' },
  } satisfies Record<string, { value: ShareState; description: string }>,
})

const Share = builder.objectRef<ShareRecord>('Share').implement({
  description:
    'A link that gives access to files and folders: to everybody who has it, also without an account, or to people and groups of the workspace alone. It never permits more than the person who made it may do today, and ends with the API key that made it.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the share.' }),
    kind: t.expose('kind', { type: ShareKindEnum, description: 'The rights that the link gives.' }),
    providerId: t.exposeID('providerId', { description: 'The ID of the provider of the shared entries.' }),
    paths: t.stringList({
      description: 'The absolute paths of the shared entries.',
      resolve: ({ paths }) => paths.map(formatPath),
    }),
    url: t.string({
      nullable: true,
      description:
        'The link, for the credential that made it and in a session of the person who made it. Null for all others, and for a credential that has less than the link.',
      authScopes: { credential: true },
      resolve: (share, _args, context) => {
        const token = context.services.shares.tokenOf(context.viewer, share)
        return token && urlOfShare(token, context)
      },
    }),
    hasPassword: t.boolean({
      description: 'Whether the link requires a password.',
      resolve: ({ passwordHash }) => passwordHash !== null,
    }),
    recipients: t.field({
      type: [ShareRecipientType],
      nullable: true,
      complexity: recipientsCost,
      description: 'The people and groups who alone can open the share, or null if everybody can who has the link.',
      resolve: ({ recipients }) => recipients as ShareRecipient[] | null,
    }),
    note: t.exposeString('note', { description: 'A note for the recipients; empty without one.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the link expires, or null if it does not.',
    }),
    maxDownloads: t.exposeInt('maxDownloads', {
      nullable: true,
      description: 'The number of downloads that the link permits, or null for no limit.',
    }),
    downloads: t.expose('downloads', { type: 'SafeInt', description: 'The number of downloads so far.' }),
    maxBytes: t.expose('maxBytes', {
      type: 'SafeInt',
      nullable: true,
      description: 'The bytes that the link accepts, or null for no limit.',
    }),
    receivedBytes: t.expose('receivedBytes', {
      type: 'SafeInt',
      description: 'The bytes of the files that came through the link, and of those that are under way.',
    }),
    fileTypes: t.exposeStringList('fileTypes', {
      description: 'The endings of names that the link accepts; empty accepts all.',
    }),
    notify: t.exposeBoolean('notify', {
      description: 'Whether the person who made the link gets emails about files that arrive through it.',
    }),
    state: t.field({
      type: ShareStateEnum,
      description: 'Whether the link works.',
      resolve: share => shareState(share),
    }),
    createdBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'The person who made the link. Null if they are no longer a member.',
      authScopes: { credential: true },
      resolve: ({ userId }, _args, context) => findCreator(userId, context),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of creation.' }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of revocation, or null.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of the last download or upload, or null.',
    }),
  }),
})

const ShareConnection = definePage<ShareRecord>('Share', Share, 'shares')

const CreateSharePayload = builder.objectRef<{ share: ShareRecord; token: string }>('CreateSharePayload').implement({
  description: 'The new share and its link.',
  fields: t => ({
    share: t.expose('share', { type: Share, description: 'The share.' }),
    url: t.string({
      description:
        'The link for the recipients. Everybody who has it can use it, unless the share names people or groups.',
      authScopes: { credential: true },
      resolve: ({ token }, _args, context) => urlOfShare(token, context),
    }),
  }),
})

const CreateShareInput = builder.inputType('CreateShareInput', {
  description: 'A new share.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({
      required: true,
      description: 'The absolute path of the file or folder. A share of the kind DROP is one folder.',
    }),
    morePaths: t.stringList({
      description: `Up to ${maxSharedPaths - 1} further files and folders of the provider, each with a name of its own, for a share of the kind VIEW.`,
    }),
    kind: t.field({
      type: ShareKindEnum,
      defaultValue: 'VIEW',
      required: true,
      description: 'The rights that the link gives.',
    }),
    password: t.string({
      description: `A password of at least ${minSharePassword} characters that the link requires.`,
    }),
    note: t.string({ description: `A note for the recipients, of at most ${maxNote} characters.` }),
    expiresAt: t.field({ type: 'DateTime', description: 'The expiry. The default is none.' }),
    maxDownloads: t.int({ description: 'The number of downloads that the link permits. The default is no limit.' }),
    maxBytes: t.field({
      type: 'SafeInt',
      description: 'The bytes that a link of the kind DROP accepts, for all files together. The default is no limit.',
    }),
    fileTypes: t.stringList({
      description: `Up to ${maxFileTypes} endings of names, such as \`pdf\`, that a link of the kind DROP accepts. The default is all.`,
    }),
    notify: t.boolean({
      description:
        'Whether you get emails about files that arrive through a link of the kind DROP: one for all files of five minutes. Requires `Workspace.sendsEmail`. The default is false.',
    }),
    userIds: t.idList({
      description: `The IDs of people who alone can open the share, when they are signed in. At most ${maxShareRecipients} together with \`groupIds\`. The share is of the kind VIEW, and ends for those who leave the workspace.`,
    }),
    groupIds: t.idList({ description: 'The IDs of groups whose members can open the share, as those of `userIds`.' }),
    emailUsers: t.boolean({
      description:
        'Whether to send the link by email to the people in `userIds`. Requires `Workspace.sendsEmail`. Each email counts towards the 100 a day of `recipients`. The default is false.',
    }),
    recipients: t.stringList({
      description: `Up to ${maxRecipients} email addresses that get the link, but not its password. Requires \`Workspace.sendsEmail\`. A member can send 100 a day.`,
    }),
  }),
})

const UpdateShareInput = builder.inputType('UpdateShareInput', {
  description: 'Changes to a share. Omitted fields do not change, and null removes a setting.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the share.' }),
    password: t.string({
      description: 'The new password. Those who have opened the link with another one have to enter it.',
    }),
    note: t.string({ description: 'The new note.' }),
    expiresAt: t.field({ type: 'DateTime', description: 'The new expiry.' }),
    maxDownloads: t.int({ description: 'The new limit. Earlier downloads count.' }),
    maxBytes: t.field({ type: 'SafeInt', description: 'The new limit. Earlier uploads count.' }),
    fileTypes: t.stringList({ description: 'The new endings of names.' }),
    notify: t.boolean({ description: 'Whether to send emails about files that arrive.' }),
    addUserIds: t.idList({
      description: `The IDs of people who can also open a share with people and groups, which has at most ${maxShareRecipients} of them. IDs of present recipients are ignored.`,
    }),
    addGroupIds: t.idList({ description: 'The IDs of groups whose members can also open the share.' }),
    removeUserIds: t.idList({
      description:
        'The IDs of people who can no longer open the share, unless they are in one of its groups. What they are transferring is ended. Without any recipients, nobody can open it.',
    }),
    removeGroupIds: t.idList({ description: 'The IDs of groups whose members can no longer open the share.' }),
    emailUsers: t.boolean({
      description:
        'Whether to send the link by email to the people in `addUserIds` who are new, as `emailUsers` of a new share. Only the person who made the share can. The default is false.',
    }),
  }),
})

builder.queryField('shares', t =>
  t.field({
    type: ShareConnection,
    description:
      'Returns shares, newest first: those that the credential made, in a session all of your own, and for administrators without restrictions those of everybody. A credential sees only shares of locations that it can access.',
    authScopes: { scope: 'read' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of shares, 1 to ${maxSharesPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
      ofUser: t.arg.id({ description: 'The ID of the person who made them. Null for all that you may see.' }),
      includeInactive: t.arg.boolean({
        defaultValue: false,
        description: 'Whether to include shares that are revoked or expired.',
      }),
      providerId: t.arg.id({ description: 'Only the shares of the provider with this ID.' }),
      path: t.arg.string({
        description: 'Only the shares of the entry at this path. Requires `providerId`.',
        ...notALocation,
      }),
    },
    complexity: ({ first }) => connectionCost(first, maxSharesPage),
    resolve: async (_root, { first, after, includeInactive, ...filter }, { services, viewer }) => {
      const query = { ...filter, includeInactive: includeInactive ?? false }
      const page = await services.shares.list(viewer, query, { first: first ?? 50, after })
      return toPage(page, after, ({ share }) => share)
    },
  }),
)

builder.mutationFields(t => ({
  createShare: t.field({
    type: CreateSharePayload,
    description: `Creates a share. For the kind DROP, it requires the scope \`write\`. A member can have ${maxActiveShares} that are neither revoked nor expired.`,
    audit: 'SHARE_CREATE',
    authScopes: atShare,
    args: { input: t.arg({ type: CreateShareInput, required: true, description: 'The share.' }) },
    resolve: (_root, { input }, { services, viewer, signal }) => services.shares.create(viewer, input, signal),
  }),
  updateShare: t.field({
    type: Share,
    description: 'Changes a share that `shares` returns. For the kind DROP, it requires the scope `write`.',
    audit: 'SHARE_UPDATE',
    authScopes: { scope: 'read' },
    args: { input: t.arg({ type: UpdateShareInput, required: true, description: 'The changes.' }) },
    resolve: (_root, { input }, { services, viewer, signal }) => services.shares.update(viewer, input, signal),
  }),
  revokeShare: t.field({
    type: Share,
    description:
      'Revokes a share that `shares` returns permanently, and ends what its recipients are transferring. For the kind DROP, it requires the scope `write`.',
    audit: 'SHARE_REVOKE',
    authScopes: { scope: 'read' },
    args: { id: t.arg.id({ required: true, description: 'The ID of the share.' }) },
    resolve: (_root, { id }, { services, viewer }) => services.shares.revoke(viewer, id),
  }),
}))
