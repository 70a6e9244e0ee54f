/** One row for each root field of the schema: what it needs, which locations it takes, and how to call it. */
import type { Need } from './model.ts'
import { at, type FieldRow, type Target, versionId } from './row.ts'

const anyone: Need = { who: 'anyone' }
const signedIn: Need = { who: 'anybody signed in' }
const session: Need = { who: 'session' }
const keyManager: Need = { who: 'key manager' }
const admin: Need = { who: 'anybody signed in', scope: 'admin' }
/** Operations on the whole workspace need an administrator without restrictions. */
export const workspaceAdmin: Need = { ...admin, where: 'every' }
const wholeProvider: Need = { ...admin, where: 'whole' }
const read: Need = { who: 'anybody signed in', scope: 'read' }
const write: Need = { who: 'anybody signed in', scope: 'write' }
const readPaths: Need = { ...read, where: 'paths' }
const adminPaths: Need = { ...admin, where: 'paths' }
const writePaths: Need = { who: 'anybody signed in', scope: 'write', where: 'paths' }

const ends = (target: Target) => ({
  ...at(target),
  toProviderId: target.locations[1]?.provider ?? '',
  toPath: target.locations[1]?.path ?? '',
  conflict: 'FAIL',
})
const password = 'a password of this test'
const issuerOptions = { groupsClaim: null, prompt: 'DEFAULT', maxAgeMinutes: 0, domains: null, groupIds: null }
const noSettings = {
  password: null,
  note: null,
  expiresAt: null,
  maxDownloads: null,
  maxBytes: null,
  fileTypes: null,
  notify: null,
}

/** `args` names every argument, even those with defaults, so that each new argument needs a decision here. */
export const fields: Readonly<Record<string, FieldRow>> = {
  'Query.installation': { needs: anyone },
  'Query.me': { needs: signedIn },
  'Query.viewer': { needs: signedIn },
  'Query.workspace': { needs: signedIn },
  'Query.users': {
    needs: workspaceAdmin,
    args: () => ({ first: 3, after: null, groupId: null, serviceAccounts: null, owners: null, singleSignOn: null }),
  },
  'Query.groups': { needs: workspaceAdmin, args: () => ({ first: 3, after: null }) },
  'Mutation.viewMember': { needs: workspaceAdmin, args: ({ ids }) => ({ userId: ids.bystander }) },
  'Query.auditEvents': {
    needs: admin,
    args: () => {
      const about = { userId: null, credentialId: null, providerId: null, pathPrefix: null }
      return { first: 3, after: null, filter: { ...about, action: null, result: null, since: null, until: null } }
    },
  },
  'Query.sessions': { needs: session },
  'Query.identities': { needs: session },
  'Query.identityLinkUrl': { needs: session, bounces: true, args: () => ({ issuer: null }) },
  'Query.issuerLogout': { needs: session },
  'Query.issuers': { needs: workspaceAdmin },
  'Query.ldapDirectory': { needs: workspaceAdmin },
  'Query.scimDirectories': { needs: { ...workspaceAdmin, who: 'session' } },
  'Query.scimTokens': { needs: { ...workspaceAdmin, who: 'session' } },
  'Query.secondFactors': { needs: session },
  'Query.totpSetup': { needs: session },
  'Query.passkeySetup': { needs: session },
  'Query.confirmation': { needs: session },
  'Query.passkeySignIn': { needs: anyone },
  'Query.invites': { needs: workspaceAdmin },
  'Query.apiKeys': {
    needs: keyManager,
    args: () => ({ first: 3, after: null, ofUser: null, includeInactive: true, connections: null }),
  },
  'Query.apiKey': { needs: keyManager, args: ({ ids }) => ({ id: ids.ownKey }) },
  'Query.consentRequest': { needs: session, bounces: true, args: ({ n }) => ({ query: `unknown=${n}` }) },
  'Query.approvals': { needs: session },
  'Subscription.approvalsChanged': { needs: session },
  'Query.providerTypes': { needs: read },
  'Query.providers': { needs: read },
  'Query.provider': {
    needs: { ...read, where: 'reach' },
    takes: ['provider'],
    args: target => ({ id: at(target).providerId }),
  },
  'Query.entry': { needs: readPaths, takes: ['entry'], args: at, effect: 'names its path' },
  'Query.file': { needs: readPaths, takes: ['file'], args: at, effect: 'names its path' },
  'Query.search': {
    needs: readPaths,
    takes: ['entry'],
    args: target => {
      const filters = { kinds: null, minSize: null, maxSize: null, modifiedAfter: null, modifiedBefore: null }
      // A word of the content of all files, and of no name.
      return { input: { text: 'content', within: [at(target)], ...filters, content: true }, first: 3, after: null }
    },
  },
  'Query.storageUsage': {
    needs: readPaths,
    takes: ['entry', 'entry'],
    args: target => {
      const { toProviderId: providerId, toPath: path } = ends(target)
      return { within: [at(target), { providerId, path }] }
    },
  },
  'Query.rankedFiles': {
    needs: readPaths,
    takes: ['entry'],
    args: target => ({ within: [at(target)], rank: 'LARGEST', first: 3 }),
  },
  'Query.duplicates': {
    needs: { ...read, where: 'reach' },
    takes: ['provider'],
    args: target => ({ providerId: at(target).providerId, first: 3, after: null }),
  },
  'Query.archiveTicket': {
    needs: readPaths,
    takes: ['entry'],
    args: target => {
      const { providerId, path } = at(target)
      return { input: { providerId, paths: [path], expiresIn: 60 } }
    },
  },
  'Query.job': { needs: read, bounces: true, args: ({ ids }) => ({ id: ids.job }) },
  'Query.jobs': { needs: read, args: () => ({ first: 20, after: null, state: null }) },
  'Query.schedules': { needs: read, args: () => ({ first: 20, after: null }) },
  'Subscription.jobChanged': { needs: read, bounces: true, args: ({ ids }) => ({ id: ids.job }) },
  'Subscription.entryChanged': {
    needs: readPaths,
    takes: ['entry', 'entry'],
    args: target => {
      const { toProviderId: providerId, toPath: path } = ends(target)
      return { ...at(target), others: [{ providerId, path }] }
    },
    effect: 'names its path',
  },
  'Query.folder': { needs: readPaths, takes: ['folder'], args: at, effect: 'names its path' },

  'Mutation.register': {
    needs: anyone,
    args: ({ n }) => ({
      input: { email: `new-${n}@example.org`, password: 'short', name: null, invite: null, setupCode: null },
    }),
    bounces: true,
  },
  'Mutation.login': { needs: anyone, args: ({ ids }) => ({ input: ids.login }) },
  'Mutation.completeLogin': {
    needs: anyone,
    bounces: true,
    args: ({ n }) => ({ input: { challenge: `unknown ${n}`, code: '123456', recoveryCode: null, passkey: null } }),
  },
  'Mutation.signInWithPasskey': { needs: anyone, bounces: true, args: () => ({ passkey: 'unknown' }) },
  'Mutation.confirmIdentity': {
    needs: session,
    bounces: true,
    args: () => ({ input: { password: null, code: null, recoveryCode: null, passkey: null } }),
  },
  'Mutation.addTotp': {
    needs: session,
    bounces: true,
    args: ({ n }) => ({ input: { ticket: `unknown ${n}`, code: '123456' } }),
  },
  'Mutation.removeTotp': { needs: session, bounces: true },
  'Mutation.addPasskey': { needs: session, bounces: true, args: () => ({ input: { name: 'a key', passkey: {} } }) },
  'Mutation.renamePasskey': { needs: session, bounces: true, args: ({ ids }) => ({ id: ids.spare, name: 'a key' }) },
  'Mutation.removePasskey': { needs: session, bounces: true, args: ({ ids }) => ({ id: ids.spare }) },
  'Mutation.createRecoveryCodes': { needs: session, bounces: true },
  'Mutation.removeSecondFactors': {
    needs: { ...workspaceAdmin, who: 'session' },
    gives: 'what the bystander has',
    args: ({ ids }) => ({ userId: ids.bystander }),
  },
  'Mutation.logout': { needs: session, spends: 'session' },
  'Mutation.revokeSession': { needs: session, spends: 'session', args: ({ ids }) => ({ id: ids.session }) },
  'Mutation.changePassword': {
    needs: session,
    args: () => ({ input: { currentPassword: password, newPassword: 'short' } }),
    bounces: true,
  },
  'Mutation.updateProfile': { needs: session, args: () => ({ input: { name: null } }) },
  'Mutation.linkIdentity': { needs: session, bounces: true, args: ({ n }) => ({ ticket: `unknown ${n}` }) },
  'Mutation.unlinkIdentity': { needs: session, bounces: true, args: ({ ids }) => ({ id: ids.spare }) },
  'Mutation.createIssuer': {
    needs: { ...workspaceAdmin, who: 'session' },
    gives: 'what an owner has',
    bounces: true,
    args: ({ n }) => {
      const client = { clientId: 'stowage', clientSecret: 'a secret of this test' }
      return { input: { name: `made ${n}`, issuer: 'not an address', ...client, ...issuerOptions, enabled: false } }
    },
  },
  'Mutation.updateIssuer': {
    needs: { ...workspaceAdmin, who: 'session' },
    gives: 'what an owner has',
    bounces: true,
    args: ({ ids }) => {
      const client = { clientId: null, clientSecret: null }
      return { input: { id: ids.spare, name: 'renamed', ...client, ...issuerOptions, enabled: null } }
    },
  },
  'Mutation.testIssuer': {
    needs: { ...workspaceAdmin, who: 'session' },
    args: () => {
      const client = { issuer: 'https://id.example.org', clientId: 'stowage', clientSecret: 'a secret of this test' }
      return { input: { id: null, ...client, ...issuerOptions } }
    },
  },
  'Mutation.deleteIssuer': {
    needs: { ...workspaceAdmin, who: 'session' },
    gives: 'what an owner has',
    bounces: true,
    args: ({ ids }) => ({ id: ids.spare }),
  },
  'Mutation.resetPassword': {
    needs: anyone,
    args: ({ n }) => ({ input: { token: `unknown ${n}`, newPassword: 'short' } }),
    bounces: true,
  },
  'Mutation.createPasswordReset': {
    needs: { ...workspaceAdmin, who: 'session' },
    gives: 'what the bystander has',
    args: ({ ids }) => ({ userId: ids.bystander }),
  },
  'Mutation.createInvite': {
    needs: workspaceAdmin,
    args: () => ({ input: { role: 'NONE', providerAccess: null, expiresAt: null, note: null } }),
  },
  'Mutation.revokeInvite': { needs: workspaceAdmin, spends: 'invite', args: ({ ids }) => ({ id: ids.invite }) },
  'Mutation.updateMember': {
    needs: workspaceAdmin,
    gives: 'what the bystander has',
    args: ({ ids }) => ({ input: { userId: ids.bystander, role: 'VIEWER', providerAccess: null } }),
  },
  'Mutation.deactivateMember': { needs: workspaceAdmin, spends: 'member', args: ({ ids }) => ({ userId: ids.spare }) },
  'Mutation.reactivateMember': { needs: workspaceAdmin, spends: 'member', args: ({ ids }) => ({ userId: ids.spare }) },
  'Mutation.removeMember': { needs: workspaceAdmin, spends: 'member', args: ({ ids }) => ({ userId: ids.spare }) },

  'Mutation.createScimToken': {
    needs: { ...workspaceAdmin, who: 'session' },
    bounces: true,
    args: () => ({ input: { name: '', issuer: null, directoryId: null } }),
  },
  'Mutation.revokeScimToken': {
    needs: { ...workspaceAdmin, who: 'session' },
    bounces: true,
    args: ({ ids }) => ({ id: ids.spare }),
  },
  'Mutation.createGroup': {
    needs: workspaceAdmin,
    spends: 'room for a group',
    args: ({ n }) => ({ input: { name: `made ${n}`, role: 'NONE', providerAccess: null } }),
  },
  'Mutation.updateGroup': {
    needs: workspaceAdmin,
    args: ({ ids, n }) => ({ input: { id: ids.group, name: `kept ${n}`, role: 'NONE', providerAccess: null } }),
  },
  'Mutation.deleteGroup': { needs: workspaceAdmin, spends: 'group', args: ({ ids }) => ({ id: ids.group }) },
  'Mutation.addGroupMember': {
    needs: workspaceAdmin,
    gives: 'what the bystander has',
    args: ({ ids }) => ({ groupId: ids.group, userId: ids.bystander }),
  },
  'Mutation.removeGroupMember': {
    needs: workspaceAdmin,
    gives: 'what the bystander has',
    spends: 'group',
    args: ({ ids }) => ({ groupId: ids.group, userId: ids.bystander }),
  },
  'Mutation.createServiceAccount': {
    needs: workspaceAdmin,
    spends: 'room for a service account',
    args: ({ n }) => ({ input: { name: `made ${n}`, role: 'NONE', providerAccess: null } }),
  },

  'Mutation.renameServiceAccount': {
    needs: workspaceAdmin,
    bounces: true,
    args: ({ ids }) => ({ userId: ids.bystander, name: '' }),
  },

  'Mutation.createApiKey': {
    needs: keyManager,
    gives: 'a key that reads',
    args: ({ n }) => ({
      input: { name: `made ${n}`, scopes: ['read'], providerAccess: null, expiresAt: null, ofUser: null },
    }),
  },
  'Mutation.renameApiKey': { needs: keyManager, args: ({ ids, n }) => ({ id: ids.ownKey, name: `renamed ${n}` }) },
  'Mutation.revokeApiKey': { needs: keyManager, args: ({ ids }) => ({ id: ids.ownKey }) },

  'Mutation.approveConnection': {
    needs: session,
    bounces: true,
    args: ({ n }) => ({
      input: { query: `unknown=${n}`, scopes: ['read'], providerAccess: null, expiresAt: '2099-01-01T00:00:00Z' },
    }),
  },
  'Mutation.decideApproval': {
    needs: session,
    bounces: true,
    args: ({ ids }) => ({ id: ids.spare, isApproved: true }),
  },
  'Mutation.connectProvider': {
    needs: workspaceAdmin,
    args: ({ n }) => ({
      input: {
        type: 'local',
        name: `new ${n}`,
        slug: null,
        config: { root: 'not absolute' },
        versionCount: 1,
        versionDays: 1,
      },
    }),
    bounces: true,
  },
  'Mutation.updateProvider': {
    needs: wholeProvider,
    takes: ['provider'],
    args: target => {
      const versions = { versionCount: null, versionDays: null }
      const changes = {
        name: 'main',
        slug: null,
        config: null,
        jobLimits: null,
        trashDays: null,
        catalogueMode: null,
        ...versions,
      }
      return { input: { id: at(target).providerId, ...changes } }
    },
  },
  'Mutation.disconnectProvider': {
    needs: wholeProvider,
    takes: ['provider'],
    spends: 'provider',
    args: target => ({ id: at(target).providerId }),
  },
  'Mutation.authorizeProvider': {
    needs: wholeProvider,
    takes: ['provider'],
    args: target => ({ id: at(target).providerId }),
    bounces: true,
  },
  'Mutation.testProvider': {
    needs: wholeProvider,
    takes: ['provider'],
    args: target => ({ id: at(target).providerId }),
  },

  'Mutation.createFolder': {
    needs: writePaths,
    takes: ['new'],
    args: target => ({ input: at(target) }),
    effect: 'folder made',
  },
  'Mutation.createUploadTicket': {
    needs: writePaths,
    takes: ['new'],
    args: target => ({ input: { ...at(target), conflict: 'FAIL', expiresIn: 60 } }),
  },
  'Mutation.takeOverUpload': {
    needs: writePaths,
    takes: ['new'],
    spends: 'upload',
    effect: 'names its path',
    args: target => ({ input: { ...at(target), uploadId: target.ids.upload } }),
  },
  'Mutation.rename': {
    needs: writePaths,
    takes: ['doomed', 'same folder'],
    args: target => {
      const { conflict, toPath } = ends(target)
      return { input: { ...at(target), name: toPath.slice(toPath.lastIndexOf('/') + 1), conflict } }
    },
    effect: 'moved',
  },
  'Mutation.move': {
    needs: writePaths,
    takes: ['doomed', 'new'],
    args: target => ({ input: ends(target) }),
    effect: 'moved',
  },
  'Mutation.copy': {
    needs: writePaths,
    takes: ['source', 'new'],
    args: target => ({ input: ends(target) }),
    effect: 'copied',
  },
  'Mutation.delete': {
    needs: writePaths,
    takes: ['doomed'],
    args: target => ({ input: { ...at(target), recursive: false, permanent: false } }),
    effect: 'gone',
  },
  'Mutation.endLock': {
    needs: writePaths,
    takes: ['entry'],
    bounces: true,
    args: target => ({ input: { ...at(target), lockId: target.ids.spare } }),
  },
  'Query.holds': { needs: admin, args: target => ({ providerId: target.ids.spare, first: 3, after: null }) },
  'Query.quotas': { needs: read, args: target => ({ providerId: target.ids.spare, first: 3, after: null }) },
  'Mutation.setQuota': {
    needs: workspaceAdmin,
    // Neither a provider nor a member is named: a quota would bind the calls that follow.
    bounces: true,
    args: () => ({ input: { bytes: 1, files: null, path: null, providerId: null, userId: null } }),
  },
  'Mutation.createHold': {
    needs: adminPaths,
    takes: ['entry'],
    // The reason is missing: a hold would prevent the calls that follow.
    bounces: true,
    args: target => ({ input: { ...at(target), until: null, reason: ' ' } }),
  },
  'Mutation.releaseHold': { needs: workspaceAdmin, bounces: true, args: ({ ids }) => ({ id: ids.spare }) },
  'Mutation.createJob': {
    needs: writePaths,
    takes: ['source', 'folder'],
    args: target => {
      const [from, to] = [at(target), ends(target)]
      const input = { kind: 'COPY', sources: [from], target: { providerId: to.toProviderId, path: to.toPath } }
      return {
        input: { ...input, targetName: null, conflict: 'SKIP', deleteExtra: false, dryRun: true, permanent: false },
      }
    },
  },
  'Mutation.pauseJob': { needs: write, spends: 'paused job', bounces: true, args: ({ ids }) => ({ id: ids.job }) },
  'Mutation.resumeJob': { needs: write, spends: 'paused job', bounces: true, args: ({ ids }) => ({ id: ids.job }) },
  'Mutation.cancelJob': { needs: write, spends: 'paused job', bounces: true, args: ({ ids }) => ({ id: ids.job }) },
  'Mutation.retryJob': { needs: write, spends: 'ended job', bounces: true, args: ({ ids }) => ({ id: ids.job }) },
  'Mutation.createSchedule': {
    needs: writePaths,
    spends: 'room for a schedule',
    takes: ['source', 'folder'],
    args: target => {
      const [from, to] = [at(target), ends(target)]
      const job = { kind: 'COPY', sources: [from], target: { providerId: to.toProviderId, path: to.toPath } }
      const options = { conflict: 'SKIP', deleteExtra: false, dryRun: true, permanent: false }
      return { input: { name: 'yearly', cron: '0 0 1 1 *', timeZone: 'UTC', job: { ...job, ...options } } }
    },
  },
  'Mutation.updateSchedule': {
    needs: write,
    spends: 'schedule',
    bounces: true,
    args: ({ ids }) => ({
      input: { id: ids.schedule, name: 'renamed', cron: null, timeZone: null, enabled: false },
    }),
  },
  'Mutation.runSchedule': {
    needs: write,
    spends: 'schedule',
    bounces: true,
    args: ({ ids }) => ({ id: ids.schedule }),
  },
  'Mutation.deleteSchedule': {
    needs: write,
    spends: 'schedule',
    bounces: true,
    args: ({ ids }) => ({ id: ids.schedule }),
  },
  'Query.trash': {
    needs: { ...write, where: 'reach' },
    takes: ['provider'],
    spends: 'trash',
    args: target => ({ providerId: at(target).providerId, jobId: null, first: 20, after: null }),
  },
  'Mutation.restore': {
    needs: writePaths,
    takes: ['trashed'],
    // Another cell may empty the trash meanwhile.
    bounces: true,
    args: target => {
      const id = Buffer.from(JSON.stringify([target.ids.trashed, at(target).providerId, at(target).path]))
      return { input: { id: id.toString('base64url'), conflict: 'FAIL' } }
    },
  },
  'Mutation.emptyTrash': {
    needs: { ...write, where: 'reach' },
    takes: ['provider'],
    args: target => ({ providerId: at(target).providerId }),
  },
  'Query.versions': {
    needs: readPaths,
    takes: ['versioned'],
    args: target => ({ ...at(target), first: 20, after: null }),
  },
  'Mutation.restoreVersion': {
    needs: writePaths,
    takes: ['versioned'],
    bounces: true,
    args: target => ({ input: { id: versionId(target), conflict: 'REPLACE' } }),
  },
  'Mutation.deleteVersion': {
    needs: writePaths,
    takes: ['versioned'],
    bounces: true,
    args: target => ({ id: versionId(target) }),
  },
  'Query.webhooks': { needs: admin },
  'Query.webhook': { needs: admin, bounces: true, args: ({ ids }) => ({ id: ids.webhook }) },
  'Mutation.createWebhook': {
    needs: adminPaths,
    spends: 'room for a webhook',
    takes: ['folder'],
    args: target => ({
      input: { name: 'made', url: 'http://127.0.0.1:9/', events: ['FILE_UPLOADED'], location: at(target) },
    }),
  },
  'Mutation.updateWebhook': {
    needs: admin,
    spends: 'webhook',
    bounces: true,
    args: ({ ids }) => ({ input: { id: ids.webhook, name: 'renamed', url: null, events: null, enabled: false } }),
  },
  'Mutation.deleteWebhook': {
    needs: admin,
    spends: 'webhook',
    bounces: true,
    args: ({ ids }) => ({ id: ids.webhook }),
  },
  'Mutation.rotateWebhookSecret': {
    needs: admin,
    spends: 'webhook',
    bounces: true,
    args: ({ ids }) => ({ id: ids.webhook }),
  },
  'Mutation.testWebhook': { needs: admin, spends: 'webhook', bounces: true, args: ({ ids }) => ({ id: ids.webhook }) },
  'Mutation.replayDeliveries': {
    needs: admin,
    spends: 'webhook',
    bounces: true,
    args: ({ ids }) => ({ input: { webhookId: ids.webhook, deliveryIds: null } }),
  },
  'Query.shares': { needs: read, args: () => ({ first: 20, after: null, ofUser: null, includeInactive: true }) },
  'Mutation.createShare': {
    needs: readPaths,
    spends: 'room for a share',
    takes: ['entry'],
    args: target => ({ input: { ...at(target), morePaths: null, recipients: null, kind: 'VIEW', ...noSettings } }),
  },
  'Mutation.updateShare': {
    needs: read,
    spends: 'share',
    bounces: true,
    args: ({ ids }) => ({ input: { id: ids.share, ...noSettings } }),
  },
  'Mutation.revokeShare': { needs: read, spends: 'share', bounces: true, args: ({ ids }) => ({ id: ids.share }) },
  'Mutation.updateWorkspace': {
    needs: workspaceAdmin,
    args: () => {
      const passwords = { singleSignOnOnly: null, passwordOwners: null }
      return { input: { name: 'Stowage', registration: 'OPEN', secondFactorRoles: [], approvals: [], ...passwords } }
    },
  },
}

/**
 * The people who may read nested fields. `as its parent`: everyone who receives the object. `accessible`: the field
 * names only providers that the credential may use. `managed`: the field is empty unless the credential may change the
 * provider.
 */
type NestedNeed = 'as its parent' | 'accessible' | 'managed'

const own = 'as its parent' as const

export const nestedFields: Readonly<Record<string, Readonly<Record<string, NestedNeed>>>> = {
  Installation: {
    hasOwner: own,
    needsSetupCode: own,
    registration: own,
    hasDirectory: own,
    singleSignOn: own,
    singleSignOnOnly: own,
  },
  SingleSignOnIssuer: { id: own, name: own, url: own },
  Issuer: {
    id: own,
    name: own,
    issuer: own,
    clientId: own,
    groupsClaim: own,
    domains: own,
    groups: own,
    redirectUri: own,
    prompt: own,
    maxAgeMinutes: own,
    enabled: own,
    isFromSettings: own,
    createdAt: own,
  },
  IssuerLogout: { name: own, url: own },
  Identity: { id: own, issuer: own, email: own, createdAt: own, lastUsedAt: own },
  LdapDirectory: { source: own, readAt: own, people: own, error: own },
  ScimDirectory: { id: own, name: own, issuer: own, createdAt: own },
  ScimToken: { id: own, name: own, displayPrefix: own, directory: own, createdAt: own, lastUsedAt: own },
  CreateScimTokenPayload: { token: own, url: own, scimToken: own },
  AuthPayload: { token: own, expiresAt: own, user: own },
  AddFactorPayload: { passkey: own, recoveryCodes: own },
  Confirmation: { confirmedUntil: own, methods: own, passkeyOptions: own },
  Passkey: { id: own, name: own, isSynced: own, createdAt: own, lastUsedAt: own },
  SecondFactors: { passkeys: own, totpAddedAt: own, recoveryCodesLeft: own },
  TotpSetup: { secret: own, uri: own, ticket: own },
  Session: { id: own, createdAt: own, expiresAt: own, address: own, userAgent: own, factors: own, current: own },
  Invite: { id: own, role: own, providerAccess: own, createdAt: own, expiresAt: own, note: own, createdBy: own },
  CreateInvitePayload: { invite: own, expiresAt: own },
  CreatePasswordResetPayload: { token: own, expiresAt: own },
  CreateApiKeyPayload: { apiKey: own, key: own, s3: own },
  S3Credentials: { accessKeyId: own, secretAccessKey: own, endpoint: own, region: own },
  ConnectProviderPayload: { provider: own, authorizationUrl: own },
  AuthorizeProviderPayload: { authorizationUrl: own },
  UploadTicket: { isDirect: own, method: own, url: own, headers: own, path: own, expiresAt: own },
  HttpHeader: { name: own, value: own },
  TakeOverUploadPayload: { path: own },
  DeletePayload: { deletedPath: own, trashItem: own },
  TrashItem: {
    id: own,
    kind: own,
    name: own,
    originalPath: own,
    size: own,
    deletedAt: own,
    deletedBy: own,
    expiresAt: own,
  },
  TrashConnection: { nodes: own, edges: own, pageInfo: own },
  TrashEdge: { node: own, cursor: own },
  CreateJobPayload: { job: own },
  Job: {
    id: own,
    kind: own,
    state: own,
    sources: own,
    target: own,
    targetName: own,
    conflict: own,
    deleteExtra: own,
    dryRun: own,
    permanent: own,
    progress: own,
    error: own,
    createdBy: own,
    createdAt: own,
    startedAt: own,
    endedAt: own,
    failures: own,
    restoreAt: own,
    restoreSteps: own,
  },
  RestoreStep: { providerId: own, path: own, action: own, isFolder: own, size: own, goneAt: own },
  RestoreStepConnection: { nodes: own, edges: own, pageInfo: own },
  RestoreStepEdge: { node: own, cursor: own },
  JobConnection: { nodes: own, edges: own, pageInfo: own },
  JobEdge: { node: own, cursor: own },
  JobError: { reason: own, message: own },
  JobFailure: { providerId: own, path: own, reason: own, message: own },
  JobFailureConnection: { nodes: own, edges: own, pageInfo: own },
  JobFailureEdge: { node: own, cursor: own },
  JobProgress: {
    files: own,
    bytes: own,
    skipped: own,
    deleted: own,
    failed: own,
    totalFiles: own,
    totalBytes: own,
    bytesPerSecond: own,
  },
  Webhook: {
    id: own,
    name: own,
    url: own,
    events: own,
    location: own,
    enabled: own,
    error: own,
    createdBy: own,
    createdAt: own,
    deliveries: own,
  },
  WebhookDelivery: {
    id: own,
    type: own,
    state: own,
    attempts: own,
    status: own,
    error: own,
    nextAttemptAt: own,
    occurredAt: own,
    endedAt: own,
  },
  WebhookDeliveryConnection: { nodes: own, edges: own, pageInfo: own },
  WebhookDeliveryEdge: { node: own, cursor: own },
  WebhookSecretPayload: { webhook: own, secret: own },
  Share: {
    id: own,
    kind: own,
    providerId: own,
    paths: own,
    url: own,
    hasPassword: own,
    note: own,
    expiresAt: own,
    maxDownloads: own,
    downloads: own,
    maxBytes: own,
    receivedBytes: own,
    fileTypes: own,
    notify: own,
    state: own,
    createdBy: own,
    createdAt: own,
    revokedAt: own,
    lastUsedAt: own,
  },
  ShareConnection: { nodes: own, edges: own, pageInfo: own },
  ShareEdge: { node: own, cursor: own },
  CreateSharePayload: { share: own, url: own },
  EntryChange: { kind: own, origin: own, providerId: own, path: own, at: own },
  CreateSchedulePayload: { schedule: own },
  Schedule: {
    id: own,
    name: own,
    cron: own,
    timeZone: own,
    job: own,
    enabled: own,
    error: own,
    nextRunAt: own,
    lastJob: own,
    lastSkippedAt: own,
    createdAt: own,
  },
  ScheduleConnection: { nodes: own, edges: own, pageInfo: own },
  ScheduleEdge: { node: own, cursor: own },
  ScheduledJob: {
    kind: own,
    sources: own,
    target: own,
    targetName: own,
    conflict: own,
    deleteExtra: own,
    dryRun: own,
    permanent: own,
  },
  Location: { providerId: own, path: own },
  MemberView: { user: own, scopes: own, providerAccess: own },
  User: {
    quotaRule: own,
    id: own,
    email: own,
    name: own,
    role: own,
    providerAccess: own,
    groups: own,
    effectiveRole: own,
    isServiceAccount: own,
    directory: own,
    directoryName: own,
    issuedGroupIds: own,
    deactivatedAt: own,
    createdAt: own,
  },
  Group: { id: own, name: own, role: own, providerAccess: own, memberCount: own },
  GroupConnection: { nodes: own, edges: own, pageInfo: own },
  GroupEdge: { node: own, cursor: own },
  CreateGroupPayload: { group: own },
  UserConnection: { nodes: own, edges: own, pageInfo: own },
  UserEdge: { node: own, cursor: own },
  PageInfo: { hasNextPage: own, hasPreviousPage: own, startCursor: own, endCursor: own },
  Viewer: {
    kind: own,
    user: own,
    workspace: own,
    scopes: own,
    providerAccess: own,
    expiresAt: own,
    needsSecondFactor: own,
    apiKey: own,
  },
  Workspace: {
    id: own,
    name: own,
    registration: own,
    secondFactorRoles: own,
    approvals: own,
    passwordOwners: own,
    sendsEmail: own,
    createdAt: own,
  },
  ApiKey: {
    id: own,
    name: own,
    displayPrefix: own,
    scopes: own,
    providerAccess: own,
    state: own,
    createdAt: own,
    expiresAt: own,
    revokedAt: own,
    lastUsedAt: own,
    application: own,
    owner: own,
  },
  ConnectedApplication: { clientId: own, name: own, destination: own, audience: own, isConnected: own },
  Approval: {
    id: own,
    kind: own,
    tool: own,
    state: own,
    credentialName: own,
    owner: own,
    providerId: own,
    path: own,
    entryKind: own,
    size: own,
    from: own,
    newLength: own,
    isPermanent: own,
    createdAt: own,
    expiresAt: own,
  },
  ConsentRequest: {
    name: own,
    host: own,
    destination: own,
    isOnMachine: own,
    audience: own,
    scopes: own,
    refusalUrl: own,
  },
  ApproveConnectionPayload: { returnUrl: own, apiKey: own },
  ApiKeyConnection: { nodes: own, edges: own, pageInfo: own },
  ApiKeyEdge: { node: own, cursor: own },
  AuditEvent: {
    id: 'accessible',
    at: 'accessible',
    action: 'accessible',
    result: 'accessible',
    userId: 'accessible',
    userEmail: 'accessible',
    userName: 'accessible',
    credentialKind: 'accessible',
    credentialId: 'accessible',
    credentialPrefix: 'accessible',
    address: 'accessible',
    requestId: 'accessible',
    providerId: 'accessible',
    providerName: 'accessible',
    path: 'accessible',
    toProviderId: 'accessible',
    toProviderName: 'accessible',
    toPath: 'accessible',
    subjectKind: 'accessible',
    subjectId: 'accessible',
    bytes: 'accessible',
    count: 'accessible',
    details: 'accessible',
  },
  AuditEventConnection: { nodes: own, edges: own, pageInfo: own },
  AuditEventEdge: { node: own, cursor: own },
  ProviderAccess: { all: own, restrictions: 'accessible' },
  ProviderRestriction: { provider: 'accessible', basePath: 'accessible' },
  ProviderType: { type: own, title: own, configSchema: own, needsAuthorization: own, builtIn: own },
  StorageProvider: {
    id: own,
    name: own,
    slug: own,
    type: own,
    status: own,
    statusReason: own,
    config: 'managed',
    capabilities: own,
    quota: own,
    quotaRule: own,
    jobLimits: own,
    trashDays: own,
    trash: own,
    versionCount: own,
    versionDays: own,
    versions: own,
    root: 'accessible',
    basePaths: 'accessible',
    createdAt: own,
    catalogue: own,
  },
  Catalogue: {
    mode: own,
    state: own,
    entries: own,
    indexedAt: own,
    isComplete: own,
    waitingFiles: own,
    failedFiles: own,
  },
  SearchConnection: { nodes: own, edges: own, pageInfo: own, coverage: own },
  SearchEdge: { node: own, cursor: own },
  SearchResult: { entry: own, provider: own, snippet: own },
  SearchCoverage: { provider: own, isComplete: own, indexedAt: own, isContentComplete: own },
  StorageUsage: { files: own, bytes: own, directFiles: own, directBytes: own, parts: own, isComplete: own },
  UsagePart: { provider: own, path: own, files: own, bytes: own },
  LocatedFile: { file: own, provider: own },
  Duplicate: { size: own, checksum: own, files: own },
  DuplicateConnection: { nodes: own, edges: own, pageInfo: own },
  DuplicateEdge: { node: own, cursor: own },
  JobLimits: { filesAtOnce: own, bytesPerSecond: own },
  ProviderVersions: { count: own, days: own, isOneStep: own },
  Version: {
    id: own,
    isCurrent: own,
    size: own,
    mimeType: own,
    modifiedAt: own,
    replacedAt: own,
    replacedBy: own,
    expiresAt: own,
    downloadUrl: own,
  },
  VersionConnection: { nodes: own, edges: own, pageInfo: own },
  VersionEdge: { node: own, cursor: own },
  ProviderTrash: { days: own, isOneStep: own, isNative: own },
  ProviderCapabilities: {
    serverSideCopy: own,
    serverSideMove: own,
    emptyFolders: own,
    resumableUpload: own,
    maxFileSize: own,
  },
  Quota: { used: own, total: own },
  Entry: { id: own, provider: own, path: own, name: own, modifiedAt: own, lock: own, hold: own },
  Hold: {
    id: own,
    providerId: own,
    path: own,
    reason: own,
    until: own,
    createdAt: own,
    createdBy: own,
    releasedAt: own,
  },
  HoldConnection: { nodes: own, edges: own, pageInfo: own },
  HoldEdge: { node: own, cursor: own },
  QuotaRule: {
    id: own,
    providerId: own,
    path: own,
    member: own,
    bytes: own,
    files: own,
    usedBytes: own,
    usedFiles: own,
    reservedBytes: own,
    reservedFiles: own,
    isExact: own,
    createdAt: own,
  },
  QuotaRuleConnection: { nodes: own, edges: own, pageInfo: own },
  QuotaRuleEdge: { node: own, cursor: own },
  EntryLock: {
    id: own,
    path: own,
    isDeep: own,
    isExclusive: own,
    holderName: own,
    holder: own,
    expiresAt: own,
  },
  File: {
    id: own,
    provider: own,
    path: own,
    name: own,
    modifiedAt: own,
    lock: own,
    hold: own,
    size: own,
    mimeType: own,
    etag: own,
    checksums: own,
    downloadUrl: own,
    thumbnailUrl: own,
    versions: own,
  },
  Checksum: { algorithm: own, hex: own },
  Folder: {
    quotaRule: own,
    id: own,
    provider: own,
    path: own,
    name: own,
    modifiedAt: own,
    lock: own,
    hold: own,
    entries: own,
    usage: own,
    downloadUrl: own,
  },
  FolderUsage: { files: own, folders: own, bytes: own, isComplete: own },
  EntryConnection: { nodes: own, edges: own, pageInfo: own },
  EntryEdge: { node: own, cursor: own },
}
