/**
 * Everything that can be done, in a folder for each subject. A `Viewer` and parsed values enter. A service authorizes the viewer
 * before it looks anything up, and a result or an `AppError` leaves.
 *
 * This file makes the services of a server.
 */
import { join } from 'node:path'
import type { Secrets } from '../auth/secrets.ts'
import type { Viewer } from '../auth/viewer.ts'
import type { Database } from '../db/client.ts'
import { findVersion } from '../db/file-versions.ts'
import type { JobRecord } from '../db/jobs/jobs.ts'
import type { JobState } from '../db/schema.ts'
import type { ActiveWork } from '../storage/active-grants.ts'
import type { Storage } from '../storage/index.ts'
import type { Redactor } from '../storage/tokens.ts'
import { createApplications } from './applications/index.ts'
import { createApprovals } from './approvals/index.ts'
import { createActivity } from './audit/activity.ts'
import { createAudit } from './audit/index.ts'
import type { LostEvents } from './audit/queue.ts'
import { createCatalogue } from './catalogue/index.ts'
import { DecodedCache } from './decoding/cache.ts'
import { createEntryComments } from './entry-metadata/comments.ts'
import { createEntryHolds } from './entry-metadata/holds.ts'
import { createEntryLocks } from './entry-metadata/locks.ts'
import { createObjectLocks } from './entry-metadata/object-locks.ts'
import { createEntryMetadata, createEntryProperties, followJob } from './entry-metadata/properties.ts'
import { createEntryStars } from './entry-metadata/stars.ts'
import { createEntryTags } from './entry-metadata/tags.ts'
import { createEntryFeed, createEvents } from './events/index.ts'
import { Reservations } from './files/conflict.ts'
import { createFiles } from './files/index.ts'
import { createHostKeys } from './host-keys.ts'
import { createJobAudit, type Damage } from './jobs/audit.ts'
import { createCopyReports } from './jobs/copies/reports.ts'
import { createJobFeed } from './jobs/feed.ts'
import { createFolderJobs, createJobWaits } from './jobs/folder-jobs.ts'
import { createJobs } from './jobs/index.ts'
import { type ObserveJob, startJobWorker } from './jobs/worker.ts'
import type { MailFailure } from './mail/index.ts'
import { startMail } from './mail/senders.ts'
import type { MailSettings } from './mail/transport.ts'
import { createOpenFiles } from './open-files/index.ts'
import { createOverview } from './overview/index.ts'
import type { Authentication } from './people/authentication.ts'
import type { DirectorySettings } from './people/ldap/directory.ts'
import type { IssuerSettings } from './people/oidc-issuer.ts'
import { createPeople } from './people/services.ts'
import { createProviders } from './providers/index.ts'
import { createAuthorization } from './providers/oauth-consent.ts'
import { createRotation } from './providers/secret-rotation.ts'
import { createPush } from './push/index.ts'
import type { PushSenderContext } from './push/sender.ts'
import { createQuotas } from './quotas/index.ts'
import { createRenditions } from './renditions/index.ts'
import { createUploadScans, type ScannerSettings, type ScanResult } from './scans/index.ts'
import { createSchedules, startScheduler } from './schedules/index.ts'
import { createShares } from './shares/index.ts'
import { createUnlocking } from './shares/opening.ts'
import { createReceivedShares } from './shares/recipients.ts'
import { createDownloadCounts, createSharedFiles } from './shares/shared-files.ts'
import { createThumbnails } from './thumbnails/index.ts'
import { createTrash, createTrashBin } from './trash/index.ts'
import { createUploadServices } from './uploads/active-upload.ts'
import { createIdempotency } from './uploads/idempotency.ts'
import { createResumableUploads } from './uploads/index.ts'
import { createMultipartUploads } from './uploads/multipart/index.ts'
import { createVersions } from './versions/index.ts'
import { createWebhooks } from './webhooks/index.ts'
import { startWebhookSender } from './webhooks/sender.ts'

export type Services = ReturnType<typeof createServices>

/** Creates all services. Each of their functions takes the viewer first and authorizes it. */
export function createServices(options: {
  db: Database
  secrets: Secrets
  authentication: Authentication
  storage: Storage
  /** Gets the secrets of issuers while they are in use. */
  redaction: Redactor
  /** Sends webhooks and speaks to issuers. Checks the address of each connection. */
  fetch: typeof globalThis.fetch
  /** Reads the descriptions of applications, and sends push notifications. Connects to addresses of public networks only. */
  publicFetch: typeof globalThis.fetch
  /** The code that the first account requires; null requires none. */
  setupCode: string | null
  /** The issuer of single sign-on; null for none. */
  oidc: IssuerSettings | null
  /** The LDAP directory; null for none. */
  ldap: (DirectorySettings & { syncMinutes: number }) | null
  /** Bytes. */
  maxUploadBytes: number
  /** The maximum lifetime of direct links to a back end, in seconds; 0 disables them. */
  directSeconds: number
  /** The clamd that scans uploads; null for none. */
  scanner: ScannerSettings | null
  /** The SMTP server, and the address in messages; null if the server sends no email. */
  mail: (MailSettings & { publicUrl: string; sendsResets: boolean }) | null
  /** Whether people can get push notifications, and the operator's address for push services; null for none. */
  push: { isEnabled: boolean; contact: string | null }
  /** Days that audit events are kept; 0 keeps them forever. */
  auditDays: number
  /** Hours between two comparisons of a storage with its catalogue; 0 means that this server works on no catalogue. */
  catalogueHours: number
  /** Jobs that this server runs at once; 0 runs only those that its own requests wait for. */
  workers: number
  /** The folder of this server, for the cache of thumbnails and renditions, and for files that are written in any order. */
  dataFolder: string
  /** The processes of this server, which share the disk of its folder. */
  processes: number
  /** Bytes of the cache of thumbnails and renditions; 0 switches them off. */
  thumbnailBytes: number
  /** The value of PATH, for programs that some files need. */
  searchPath: string
  observeJob: ObserveJob
  onError: (error: unknown) => void
  onAuditLoss: (loss: LostEvents) => void
  onMailFailure: (failure: MailFailure) => void
  /** Called when a request of a new password is dropped because too many wait, once a minute at most. */
  onResetLoss: () => void
  onPushFailure: PushSenderContext['onFailure']
  /** Called when the scanner fails, once a minute at most. */
  onScanFailure: (error: Error) => void
  /** Called after each scan of an upload. */
  onScanResult: (result: ScanResult) => void
  /** Called when a job has found damaged or missing files. */
  onDamage: (damage: Damage) => void
}) {
  const { db, secrets, authentication, storage, maxUploadBytes, onError } = options
  const { credentials, limits } = authentication
  const onLoss = (loss: LostEvents) => {
    options.onAuditLoss(loss)
    // The catalogue follows the events.
    catalogue.compareAll().catch(onError)
  }
  const audit = createAudit({ db, credentials, keepDays: options.auditDays, onLoss })
  const catalogue = createCatalogue({
    db,
    secrets,
    storage,
    hours: options.catalogueHours,
    isWorking: options.workers > 0,
    searchPath: options.searchPath,
    runningChanges: audit.runningChanges,
    recentChanges: audit.recentChanges,
    onError,
  })
  const reservations = new Reservations()
  const { scanner, onScanFailure: onFailure, onScanResult: onResult } = options
  const scans = createUploadScans({ db, scanner, onFailure, onResult })
  const common = { db, storage, secrets, audit, reservations, scans, maxUploadBytes }
  const sharedUploads = createUploadServices({ ...common, onError })
  const { mail, onMailFailure } = options
  const people = createPeople({
    db,
    secrets,
    authentication,
    audit,
    network: storage.network,
    redaction: options.redaction,
    fetch: options.fetch,
    setupCode: options.setupCode,
    oidc: options.oidc,
    ldap: options.ldap,
    sendsEmail: mail !== null,
    sendsResets: mail?.sendsResets ?? false,
    isWorking: options.workers > 0,
    onError,
    onResetLoss: options.onResetLoss,
  })
  const { members, passwordResets } = people.services
  const uploads = createResumableUploads(sharedUploads, members)
  const recordEnd = createJobAudit(audit, options.onDamage)
  const entryMetadata = createEntryMetadata({ db, onError })
  const onEnd = async (job: JobRecord, state: JobState) => {
    await followJob(entryMetadata, job, state)
    waits.check()
  }
  const trashBin = createTrashBin({ db, storage, onError })
  const worker = startJobWorker(
    { db, storage, trash: trashBin, credentials, recordEnd, onError, onEnd, observe: options.observeJob },
    options.workers,
  )
  const { runNow } = worker
  const waits = createJobWaits({ db, runNow, onError })
  const folderJobs = createFolderJobs({ db, audit, waits, runNow })
  const feed = createJobFeed({ db, activeGrants: authentication.activeGrants, onError })
  const entryFeed = createEntryFeed({ db, activeGrants: authentication.activeGrants, onError })
  const jobs = createJobs({ db, audit, storage, feed, wake: worker.wake, recordEnd, onEnd })
  const stopScheduler = options.workers > 0 ? startScheduler({ db, audit, credentials, jobs, onError }) : async () => {}
  const files = createFiles({
    ...common,
    credentials,
    folderJobs,
    trash: trashBin,
    entryMetadata,
    folders: catalogue.folders,
    expected: catalogue.expected,
    findVersion: (id, at) => findVersion(db, id, at),
    directSeconds: options.directSeconds,
  })
  const cache = new DecodedCache({
    folder: join(options.dataFolder, 'thumbnails'),
    maxBytes: options.thumbnailBytes,
    onError,
  })
  const thumbnails = createThumbnails({
    storage,
    secrets,
    credentials,
    audit,
    cache,
    searchPath: options.searchPath,
  })
  const renditions = createRenditions({ storage, audit, cache, searchPath: options.searchPath })
  const unlocking = createUnlocking({ secrets, audit, limits: limits.signIns })
  const counts = createDownloadCounts(db, onError)
  const sender = { db, secrets, audit, credentials, fetch: options.fetch, onError }
  const stopSender = options.workers > 0 ? startWebhookSender(sender) : async () => {}
  const trash = createTrash({ db, storage, audit, onError, collects: options.workers > 0 })
  const quotas = createQuotas({
    db,
    storage,
    audit,
    keeper: authentication.quotas,
    isWorking: options.workers > 0,
    onError,
  })
  const versions = createVersions({ db, storage, secrets, audit, onError, collects: options.workers > 0 })
  const guard = authentication.entryGuard
  const objectLocks = createObjectLocks({ db, storage, audit, guard, onError, collects: options.workers > 0 })
  const overview = createOverview({
    db,
    directory: people.services.directory?.source ?? null,
    isWorking: options.workers > 0 && options.catalogueHours > 0,
    onError,
  })
  const { linkFor } = passwordResets
  const stopMail =
    mail && options.workers > 0 ? startMail(mail, { db, secrets, linkFor, onError, onMailFailure }) : async () => {}
  const push = createPush({
    ...options.push,
    db,
    secrets,
    redaction: options.redaction,
    audit,
    limits: limits.push,
    fetch: options.publicFetch,
    isSending: options.workers > 0,
    onError,
    onFailure: options.onPushFailure,
  })
  const approvals = createApprovals({ db, audit, credentials, activeGrants: authentication.activeGrants, onError })
  async function stopJobs(): Promise<void> {
    await Promise.all([
      waits.close(),
      approvals.close(),
      stopScheduler(),
      people.stop(),
      stopSender(),
      stopMail(),
      push.stop(),
      trash.stop(),
      quotas.stop(),
      versions.stop(),
      objectLocks.stop(),
      catalogue.stopWork(),
      overview.stop(),
      worker.close(),
      feed.close(),
      entryFeed.close(),
    ])
  }

  return {
    credentials,
    requestLimits: limits.requests,
    audit,
    catalogue,
    ...people.services,
    applications: createApplications({ db, secrets, audit, credentials, limits, fetch: options.publicFetch }),
    approvals,
    push,
    providers: createProviders({ db, secrets, storage, audit, uploads, onConnected: catalogue.wake }),
    authorization: createAuthorization({ db, secrets, storage, credentials, audit }),
    files,
    openFiles: createOpenFiles({
      files,
      storage,
      audit,
      expected: catalogue.expected,
      dataFolder: options.dataFolder,
      processes: options.processes,
    }),
    hostKeys: createHostKeys({ db, secrets, redaction: options.redaction }),
    /** Follows the credentials of connections that last. */
    credentialWatch: {
      /** Aborts the signal of the result when the credential ends. Dispose of it when the connection does. */
      follow: (viewer: Viewer, signal: AbortSignal): ActiveWork =>
        authentication.activeGrants.registerViewer({ viewer, confirmed: () => {} }, signal),
    },
    thumbnails,
    renditions,
    scans,
    uploads,
    shares: createShares({ db, secrets, audit, storage, limits: limits.invitations, sendsEmail: mail !== null }),
    receivedShares: createReceivedShares({ db, secrets, storage, credentials }),
    sharedFiles: createSharedFiles({
      db,
      storage,
      credentials,
      unlocking,
      counts,
      files,
      uploads,
      thumbnails,
      renditions,
    }),
    multipart: createMultipartUploads(sharedUploads),
    jobs,
    copyReports: createCopyReports(db, jobs.get),
    schedules: createSchedules({ db, audit, jobs }),
    events: createEvents({ storage, feed: entryFeed }),
    trash,
    versions,
    entryLocks: createEntryLocks({ db, audit, guard: authentication.entryGuard }),
    quotas,
    entryHolds: createEntryHolds({ db, storage, audit, guard: authentication.entryGuard }),
    objectLocks,
    entryProperties: createEntryProperties({ db, storage, audit }),
    entryStars: createEntryStars({ db, storage, audit }),
    entryTags: createEntryTags({ db, storage, audit }),
    activity: createActivity({ db }),
    overview,
    entryComments: createEntryComments({
      db,
      storage,
      audit,
      limits: limits.invitations,
      sendsEmail: mail !== null,
    }),
    webhooks: createWebhooks({ db, secrets, audit, storage }),
    rotation: createRotation({ db, secrets }),
    idempotency: createIdempotency({ db, onError }),
    /** Interrupts running jobs, which another server continues, and ends all subscriptions. */
    stopJobs,
    /** Writes all data that is still queued. Do not use the services afterwards. */
    async close() {
      await stopJobs()
      thumbnails.close()
      renditions.close()
      await Promise.all([authentication.close(), audit.close(), counts.close(), cache.close()])
      await catalogue.leave()
    },
  }
}
