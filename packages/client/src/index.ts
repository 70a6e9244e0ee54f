/**
 * The TypeScript client, for Node.js and browsers. Calls of a program enter through `Stowage`, or through `ShareLink` for a link
 * without an account; GraphQL and REST requests leave through `Transport`. `Graphql` runs documents and subscriptions, and
 * `upload.ts` and `download.ts` move content. It knows the server by its API alone.
 */
import { type Activity, type ActivityOptions, listActivity } from './activity.ts'
import { type Approval, decideApproval, followApprovals, listApprovals } from './approvals.ts'
import { type Comment, createComment, deleteComment, listComments, updateComment } from './comments.ts'
import { checkCopies, createCopies, type KeptCopies, listKeptCopies, type NewCopies } from './copies.ts'
import { type ArchiveOptions, archive, type Download, type DownloadOptions, download } from './download.ts'
import { type Connection, Graphql, type RequestOptions, type SubscribeOptions, type TypedDocument } from './graphql.ts'
import { type Job, type WaitOptions, waitForJob } from './jobs.ts'
import { type Location, list, type WalkedEntry, type WalkOptions, walk } from './list.ts'
import {
  addStar,
  listStars,
  listTagged,
  listTags,
  type MarkedEntry,
  removeStar,
  type Tag,
  type TagChanges,
  updateTags,
} from './marks.ts'
import { type Overview, readOverview, readUsage, type UsageDay, type UsageOptions } from './overview.ts'
import {
  createHold,
  type EntryLock,
  endLock,
  findLock,
  type Hold,
  type HoldListOptions,
  listHolds,
  type NewHold,
  releaseHold,
} from './protection.ts'
import { listQuotas, type Quota, type QuotaListOptions, setQuota } from './quotas.ts'
import { discardUpload } from './resumable.ts'
import type { SetQuotaInput } from './schema.ts'
import { type FoundEntry, type SearchOptions, search } from './search.ts'
import { type StowageOptions, Transport } from './transport.ts'
import { listTrash, type TrashedEntry, type TrashOptions } from './trash.ts'
import { type UploadOptions, upload } from './upload.ts'
import {
  deleteVersion,
  type EarlierVersion,
  listVersions,
  type RestoreVersionOptions,
  restoreVersion,
  type VersionsOptions,
} from './versions.ts'

export type { Activity, ActivityLocation, ActivityOptions } from './activity.ts'
export type { Approval } from './approvals.ts'
export type { Comment, CommentPerson } from './comments.ts'
export { expandAtOnce, forEachAtOnce } from './concurrency.ts'
export type { KeptCopies, NewCopies } from './copies.ts'
export type { ArchiveOptions, Download, DownloadOptions, ReadOptions } from './download.ts'
export { StowageError, type StowageErrorDetails } from './error.ts'
export type { Connection, RequestOptions, SubscribeOptions, TypedDocument, TypedDocumentNode } from './graphql.ts'
export { type Job, type JobProgress, sourcesOfJobs, type WaitOptions } from './jobs.ts'
export type { Location, WalkedEntry, WalkOptions } from './list.ts'
export type { MarkedEntry, Tag, TagChanges } from './marks.ts'
export type { Overview, UsageDay, UsageOptions } from './overview.ts'
export type { EntryLock, Hold, HoldListOptions, NewHold } from './protection.ts'
export type { Quota, QuotaListOptions } from './quotas.ts'
export type { SendOptions, UploadResume } from './resumable.ts'
export type { ShouldRetry } from './retry.ts'
export type * as schema from './schema.ts'
export type { FoundEntry, FoundFileType, SearchCoverage, SearchOptions } from './search.ts'
export { type SharedEntry, type SharedFacts, ShareLink, type ShareLinkOptions } from './share-link.ts'
export { type SignedIn, type SignInOptions, signIn } from './sign-in.ts'
export type { StowageOptions } from './transport.ts'
export type { TrashedEntry, TrashOptions } from './trash.ts'
export type { Conflict, UploadOptions } from './upload.ts'
export type { EarlierVersion, RestoreVersionOptions, VersionsOptions } from './versions.ts'

/** A client of one Stowage server with one credential. All methods throw a StowageError. */
export class Stowage {
  readonly #transport: Transport
  readonly #graphql: Graphql

  readonly files = {
    /** Uploads a file and resolves with its path, which differs from the given one after `rename`. */
    upload: (options: UploadOptions): Promise<string> => upload(this.#transport, this.#graphql, options),
    /** Deletes an unfinished upload, whose address `resume.onStart` got. */
    discardUpload: (url: string): Promise<void> => discardUpload(this.#transport, url),
    /** Downloads a file, or a folder as a ZIP archive. */
    download: ({ providerId, path, version, ...options }: DownloadOptions): Promise<Download> =>
      download(this.#transport, this.#transport.urlOf('/api/download/proxy', { providerId, path, version }), options),
    /** Downloads several files and folders as one ZIP archive. */
    archive: (options: ArchiveOptions): Promise<ReadableStream<Uint8Array>> => archive(this.#transport, options),
    /** Yields the entries of a folder. */
    list: (options: Location & RequestOptions): AsyncGenerator<WalkedEntry, void, undefined> =>
      list(this.#graphql, options),
    /** Yields everything below a folder. */
    walk: (options: WalkOptions): AsyncGenerator<WalkedEntry, void, undefined> => walk(this.#graphql, options),
  }

  readonly jobs = {
    /** Waits until a job has ended, and reports its progress meanwhile. */
    wait: (id: string, options?: WaitOptions): Promise<Job> => waitForJob(this.#graphql, id, options),
  }

  readonly copies = {
    /** Yields the schedules that keep copies of folders, newest first, each with its latest check. */
    list: (options?: RequestOptions): AsyncGenerator<KeptCopies, void, undefined> =>
      listKeptCopies(this.#graphql, options),
    /** Keeps copies of a folder in other storages, on a schedule. */
    create: (input: NewCopies, options?: RequestOptions) => createCopies(this.#graphql, input, options),
    /** Copies what is new and checks what is due, now. Resolves with the ID of the job, for `jobs.wait`. */
    check: (id: string, options?: RequestOptions): Promise<string> => checkCopies(this.#graphql, id, options),
    /** Downloads the report of a job of the kind KEEP_COPIES. */
    report: (jobId: string, format: 'json' | 'csv' | 'text' = 'json', init: RequestInit = {}): Promise<Response> =>
      this.#transport.request(this.#transport.urlOf('/api/jobs/report', { id: jobId, format }), init),
  }

  /** Calls of agents that wait for a person. The credential has to be the token of a session. */
  readonly approvals = {
    /** Resolves with what waits for the person, the oldest first. */
    list: (options?: RequestOptions): Promise<Approval[]> => listApprovals(this.#graphql, options),
    /** Yields what waits: at once, and after each change. */
    follow: (options?: SubscribeOptions): AsyncGenerator<Approval[], void, undefined> =>
      followApprovals(this.#graphql, options),
    /** Lets a call go on, once, with the rights that its credential then has. */
    approve: (id: string, options?: RequestOptions): Promise<void> =>
      decideApproval(this.#graphql, { id, isApproved: true }, options),
    refuse: (id: string, options?: RequestOptions): Promise<void> =>
      decideApproval(this.#graphql, { id, isApproved: false }, options),
  }

  readonly trash = {
    /** Yields what is in the trash of a provider, newest first. The mutation `restore` takes its IDs. */
    list: (options: TrashOptions): AsyncGenerator<TrashedEntry, void, undefined> => listTrash(this.#graphql, options),
  }

  readonly versions = {
    /** Yields the earlier versions of a file, the newest first, also those of a deleted file. */
    list: (options: VersionsOptions): AsyncGenerator<EarlierVersion, void, undefined> =>
      listVersions(this.#graphql, options),
    /** Makes a version the content of its file, also of a deleted one. Resolves with the path, which differs after `rename`. */
    restore: (id: string, options: RestoreVersionOptions = {}): Promise<string> =>
      restoreVersion(this.#graphql, id, options),
    /** Deletes a version for good. */
    delete: (id: string, options: RequestOptions = {}): Promise<void> => deleteVersion(this.#graphql, id, options),
  }

  /** Stars of the person, which nobody else sees. */
  readonly stars = {
    /** Yields the files and folders with a star that the credential can access, the newest star first. */
    list: (options?: RequestOptions): AsyncGenerator<MarkedEntry, void, undefined> => listStars(this.#graphql, options),
    add: (at: Location, options?: RequestOptions): Promise<void> => addStar(this.#graphql, at, options),
    remove: (at: Location, options?: RequestOptions): Promise<void> => removeStar(this.#graphql, at, options),
  }

  /** Tags of files and folders, which everybody sees who may read them. */
  readonly tags = {
    /** Yields the tags of everything that the credential can access, in the order of their names. */
    list: (options?: RequestOptions): AsyncGenerator<Tag, void, undefined> => listTags(this.#graphql, options),
    /** Yields the files and folders with a tag, the ones that got it last first. */
    entries: (tag: string, options?: RequestOptions): AsyncGenerator<MarkedEntry, void, undefined> =>
      listTagged(this.#graphql, tag, options),
    /** Adds and removes tags, and resolves with those that the file or folder has then. */
    update: (at: Location, changes: TagChanges, options?: RequestOptions): Promise<string[]> =>
      updateTags(this.#graphql, at, changes, options),
  }

  /** Comments on files and folders. Everybody who may read a file or folder can read its comments. */
  readonly comments = {
    /** Yields the comments on a file or folder, the newest first. */
    list: (at: Location, options?: RequestOptions): AsyncGenerator<Comment, void, undefined> =>
      listComments(this.#graphql, at, options),
    /** Writes a comment. `@[id]` in the text mentions a member who may read the file or folder. */
    create: (at: Location, text: string, options?: RequestOptions): Promise<Comment> =>
      createComment(this.#graphql, at, text, options),
    /** Changes the text of a comment. Only its author may. */
    update: (at: Location, comment: { id: string; text: string }, options?: RequestOptions): Promise<Comment> =>
      updateComment(this.#graphql, at, comment, options),
    /** Deletes a comment. Only its author and administrators may. */
    delete: (at: Location, id: string, options?: RequestOptions): Promise<void> =>
      deleteComment(this.#graphql, at, id, options),
  }

  readonly holds = {
    /** Yields the holds that have not ended, also those of S3 Object Lock, the newest first. */
    list: (options: HoldListOptions = {}): AsyncGenerator<Hold, void, undefined> => listHolds(this.#graphql, options),
    /** Holds a file, or a folder with everything in it. Nobody ends a hold with a date before it. */
    create: (hold: NewHold, options?: RequestOptions): Promise<Hold> => createHold(this.#graphql, hold, options),
    /** Ends a hold that has no date. Requires the credential of an owner. */
    release: (id: string, options?: RequestOptions): Promise<Hold> => releaseHold(this.#graphql, id, options),
  }

  /** Locks that programs put on files and folders through WebDAV. */
  readonly locks = {
    /** Resolves with the lock that holds for a file or folder, or null. Of several shared locks, it is one of them. */
    find: (at: Location, options?: RequestOptions): Promise<EntryLock | null> => findLock(this.#graphql, at, options),
    /** Ends a lock, and resolves with the one that holds then, such as another shared one, or null. */
    end: (at: Location, id: string, options?: RequestOptions): Promise<EntryLock | null> =>
      endLock(this.#graphql, at, id, options),
  }

  readonly quotas = {
    /** Yields the quotas that the credential may see, newest first, with what counts against them. */
    list: (options: QuotaListOptions = {}): AsyncGenerator<Quota, void, undefined> =>
      listQuotas(this.#graphql, options),
    /** Sets the limits of a storage, a folder or a member. Without any, the quota is removed. */
    set: (input: SetQuotaInput, options?: RequestOptions): Promise<Quota> => setQuota(this.#graphql, input, options),
  }

  /** For administrators with access to all storages. */
  readonly overview = {
    /** Resolves with the members, the storages, what has failed lately, and what runs. */
    read: (options?: RequestOptions): Promise<Overview> => readOverview(this.#graphql, options),
    /** Resolves with the usage of the storages on each day that is known, the oldest first. */
    usage: (options: UsageOptions = {}): Promise<UsageDay[]> => readUsage(this.#graphql, options),
  }

  constructor(options: StowageOptions) {
    this.#transport = new Transport(options)
    this.#graphql = new Graphql(this.#transport)
  }

  /** Yields what has changed in the last 90 days, everywhere or at some files and folders and below them, the newest first. */
  activity(options: ActivityOptions = {}): AsyncGenerator<Activity, void, undefined> {
    return listActivity(this.#graphql, options)
  }

  /** Yields the files and folders whose names contain a text, in all storages: the best matches first, then the newest. */
  search(options: SearchOptions): AsyncGenerator<FoundEntry, void, undefined> {
    return search(this.#graphql, options)
  }

  /**
   * Sends a request to a path of the server, such as `/openapi.json`, with the credential. It is not repeated.
   * @returns the response, whose status is below 400
   */
  request(path: string, init: RequestInit = {}): Promise<Response> {
    return this.#transport.request(this.#transport.urlOf(path), init)
  }

  /** Runs a query or a mutation. Queries are repeated after temporary failures. */
  graphql<Result, Variables = Record<string, never>>(
    document: TypedDocument<Result, Variables>,
    variables: Variables = {} as Variables,
    options?: RequestOptions,
  ): Promise<Result> {
    return this.#graphql.run(document, variables, options)
  }

  /** Yields the nodes of a connection, page after page. The document takes the cursor of a page as `$after`. */
  nodes<Result, Node>(
    document: TypedDocument<Result, object>,
    variables: object,
    connectionOf: (result: Result) => Connection<Node>,
    options?: RequestOptions,
  ): AsyncGenerator<Node, void, undefined> {
    return this.#graphql.nodes(document, variables, connectionOf, options)
  }

  /** Runs a subscription and yields the result of each event. */
  subscribe<Result, Variables = Record<string, never>>(
    document: TypedDocument<Result, Variables>,
    variables: Variables = {} as Variables,
    options?: SubscribeOptions,
  ): AsyncGenerator<Result, void, undefined> {
    return this.#graphql.subscribe(document, variables, options)
  }
}
