import type { StorageLocation } from './locations.ts'

/** The keys of cached data. Invalidating `providers` also invalidates every key that starts with it. */
export const queryKeys = {
  session: ['session'],
  installation: ['installation'],
  sessions: ['sessions'],
  identities: ['identities'],
  linkInvite: ['link-invite'],
  secondFactors: ['second-factors'],
  /** The browsers of the person that get notifications. */
  push: ['push'],
  /** How the person confirms who they are. */
  confirmation: ['confirmation'],
  issuers: ['issuers'],
  passwordPolicy: ['password-policy'],
  apiKeys: ['api-keys'],
  approvals: ['approvals'],
  members: ['members'],
  groups: ['groups'],
  invites: ['invites'],
  /** The LDAP directory and the tokens for SCIM. */
  directories: ['directories'],
  providers: ['providers'],
  /** The latest jobs. */
  jobs: ['jobs'],
  /** The pages of the history of jobs, all or those in one state. */
  jobHistory: ['job-history'],
  /** The pages of the trash of each storage. */
  trash: ['trash'],
  /** The pages of the versions of each file. */
  versions: ['versions'],
  schedules: ['schedules'],
  /** The pages of the audit log, by filter. */
  auditEvents: ['audit-events'],
  /** The pages of the share links. */
  shares: ['shares'],
  /** The comments on each entry. */
  comments: ['comments'],
  /** The people and groups that a search finds. */
  recipients: ['recipients'],
  /** The pages of what others share with the person. */
  received: ['received'],
  webhooks: ['webhooks'],
  /** The overview for administrators, and the usage of storages. */
  overview: ['overview'],
  /** The pages of the deliveries of a webhook. */
  deliveries: (webhookId: string) => ['deliveries', webhookId] as const,
  /** The entries of a folder. */
  listing: ({ providerId, path }: StorageLocation) => ['listing', providerId, path] as const,
  /** The names of the folders in a folder. */
  subfolders: ({ providerId, path }: StorageLocation) => ['subfolders', providerId, path] as const,
} as const
