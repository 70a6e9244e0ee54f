/**
 * Lists the scopes that each operation requires at the locations in its input. The services get their grants from here, and the
 * GraphQL fields use the same objects as their rules, so a rule cannot differ from what is checked.
 */
import { AppError } from '../errors.ts'
import { parseTrashId, parseVersionId } from './id.ts'
import { childOf, commonPath, parentOf, parseNewName, parseNewPath, parsePath, root, type StoragePath } from './path.ts'
import {
  type Grant,
  grant,
  grantReadBelow,
  grantSearch,
  requireScope,
  requireScopeAnywhere,
  requireWorkspaceAdmin,
  type SearchGrant,
  topOf,
} from './policy.ts'
import { highestScope, type Scope } from './scopes.ts'
import type { ShareKind, Viewer } from './viewer.ts'

/** The ways in which an input names a location, each with the fields that it reads. Paths are unparsed text from the client. */
interface Inputs {
  path: { providerId: string; path: string }
  /** All of `paths`. */
  paths: { providerId: string; paths: readonly string[] }
  /** An entry that is to be created at `path`. */
  newPath: { providerId: string; path: string }
  /** An entry that is to be created, in the provider of `path` unless `toProviderId` is given. */
  toPath: { providerId: string; toProviderId?: string | null | undefined; toPath: string }
  /** A new name in the folder of `path`. */
  name: { providerId: string; path: string; name: string }
  /** The root of the provider with this id. */
  id: { id: string }
  /** The path at which the entry with this id in the trash was deleted. */
  trashed: { id: string }
  /** The path of the file whose version has this id. */
  version: { id: string }
  /** The first of `sources`, and the others. */
  original: { sources: readonly { providerId: string; path: string }[] }
  copies: { sources: readonly { providerId: string; path: string }[] }
  /** All of `sources`. */
  sources: { sources: readonly { providerId: string; path: string }[] }
  /** All of `within`; without them, everything that the viewer may access. */
  within: { within?: readonly { providerId: string; path: string }[] | null | undefined }
  /** Further entries of the provider of `path`. */
  morePaths: { providerId: string; morePaths?: readonly string[] | null | undefined }
  /** Further locations, of any provider. */
  others: { others?: readonly { providerId: string; path: string }[] | null | undefined }
  /** The folder `target`, if there is one. */
  target: { target?: { providerId: string; path: string } | null | undefined }
}

/** One location of an operation, and the scope that the operation requires there. */
export interface Need<S extends Scope = Scope> {
  readonly scope: S
  readonly at: keyof Inputs
  /** The operation adds the entry, and replaces nothing. */
  readonly isNew?: true
}

export const needs = {
  read: [{ scope: 'read', at: 'path' }],
  readAll: [{ scope: 'read', at: 'paths' }],
  search: [{ scope: 'read', at: 'within' }],
  follow: [
    { scope: 'read', at: 'path' },
    { scope: 'read', at: 'others' },
  ],
  create: [{ scope: 'write', at: 'newPath' }],
  /** Creates an entry, and never replaces one. */
  add: [{ scope: 'write', at: 'newPath', isNew: true }],
  delete: [{ scope: 'write', at: 'path' }],
  /** Writes and changes comments on an entry. */
  comment: [{ scope: 'write', at: 'path' }],
  hold: [{ scope: 'admin', at: 'path' }],
  restore: [{ scope: 'write', at: 'trashed' }],
  readVersion: [{ scope: 'read', at: 'version' }],
  changeVersion: [{ scope: 'write', at: 'version' }],
  /** As `changeVersion`, of an operation that takes the path of the file. */
  changeVersionAt: [{ scope: 'write', at: 'path' }],
  rename: [
    { scope: 'write', at: 'path' },
    { scope: 'write', at: 'name' },
  ],
  move: [
    { scope: 'write', at: 'path' },
    { scope: 'write', at: 'toPath' },
  ],
  copy: [
    { scope: 'read', at: 'path' },
    { scope: 'write', at: 'toPath' },
  ],
  manageProvider: [{ scope: 'admin', at: 'id' }],
  webhook: [{ scope: 'admin', at: 'path' }],
  shareToView: [
    { scope: 'read', at: 'path' },
    { scope: 'read', at: 'morePaths' },
  ],
  shareToDrop: [
    { scope: 'write', at: 'path' },
    { scope: 'write', at: 'morePaths' },
  ],
  copyJob: [
    { scope: 'read', at: 'sources' },
    { scope: 'write', at: 'target' },
  ],
  readJob: [{ scope: 'read', at: 'sources' }],
  keepCopies: [
    { scope: 'read', at: 'original' },
    { scope: 'write', at: 'copies' },
  ],
  /** Keeping copies that also restore the original. */
  repairCopies: [{ scope: 'write', at: 'sources' }],
  moveJob: [
    { scope: 'write', at: 'sources' },
    { scope: 'write', at: 'target' },
  ],
} as const satisfies Record<string, readonly Need[]>

/** The fields that all of the needs read. */
export type InputOf<N extends readonly Need[]> = object & Intersection<Inputs[N[number]['at']]>
type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/**
 * One grant per need, in the same order. The needs of jobs, archives, shares and subscriptions, which name several locations at once, have
 * their own functions.
 */
export type GrantsOf<N extends readonly Need[]> = { readonly [I in keyof N]: Grant<N[I]['scope']> }

/**
 * The decision that a viewer may do an operation. Only this file makes them. Callers pass it on instead of the locations that
 * it was made for, so nothing parses or decides these again.
 */
export class Authorized<N extends readonly Need[] = readonly Need[]> {
  readonly #viewer: Viewer | null
  readonly #operation: N
  readonly #grants: readonly Grant[]

  private constructor(viewer: Viewer | null, operation: N, grants: readonly Grant[]) {
    this.#viewer = viewer
    this.#operation = operation
    this.#grants = grants
  }

  /** @throws as `authorize` */
  static for<const N extends readonly Need[]>(viewer: Viewer | null, operation: N, input: InputOf<N>): Authorized<N> {
    return new Authorized(viewer, operation, grantAll(viewer, operation, input))
  }

  /** Reads at the location of an entry. @param earlier the grant with which the entry was found; null if there is none */
  static toRead(viewer: Viewer | null, earlier: Grant | null, location: Location): Authorized<typeof needs.read> {
    const { providerId, path } = location
    const known = earlier?.providerId === providerId ? grantReadBelow(earlier, viewer, path) : null
    return new Authorized(viewer, needs.read, [known ?? grant(viewer, { scope: 'read', providerId, path })])
  }

  /** Returns the grants. @throws if the decision was made for another viewer or another operation */
  for(viewer: Viewer | null, operation: readonly Need[]): Grant[] {
    if (viewer === this.#viewer && operation === this.#operation) return [...this.#grants]
    throw new Error('A decision was passed on to another operation, or to another viewer.')
  }

  /** The first location, then the second one or undefined, for the audit log. */
  get locations(): readonly [Grant, Grant | undefined] {
    const [first, second] = this.#grants
    if (!first) throw new Error('A decision has no location.')
    return [first, second]
  }
}

/** The locations of an operation: as a client sent them, or as authorized already. */
export type Asked<N extends readonly Need[]> = InputOf<N> | { readonly authorized: Authorized<N> }

interface Location {
  providerId: string
  path: StoragePath
}

const locate: { readonly [At in keyof Inputs]: (input: Inputs[At]) => Location | Location[] } = {
  path: ({ providerId, path }) => ({ providerId, path: parsePath(path) }),
  paths: ({ providerId, paths }) => paths.map(path => ({ providerId, path: parsePath(path) })),
  newPath: ({ providerId, path }) => ({ providerId, path: parseNewPath(path) }),
  toPath: ({ providerId, toProviderId, toPath }) => ({
    providerId: toProviderId ?? providerId,
    path: parseNewPath(toPath),
  }),
  name: ({ providerId, path, name }) => ({
    providerId,
    path: childOf(parentOf(parsePath(path)), parseNewName(name)),
  }),
  id: ({ id }) => ({ providerId: id, path: root }),
  trashed: ({ id }) => {
    const { providerId, path } = parseTrashId(id)
    return { providerId, path: parsePath(path) }
  },
  version: ({ id }) => {
    const { providerId, path } = parseVersionId(id)
    return { providerId, path: parsePath(path) }
  },
  original: ({ sources }) => locateAll(sources.slice(0, 1)),
  copies: ({ sources }) => locateAll(sources.slice(1)),
  sources: ({ sources }) => locateAll(sources),
  morePaths: ({ providerId, morePaths }) => (morePaths ?? []).map(path => ({ providerId, path: parsePath(path) })),
  within: ({ within }) => (within ?? []).map(({ providerId, path }) => ({ providerId, path: parsePath(path) })),
  others: ({ others }) => (others ?? []).map(({ providerId, path }) => ({ providerId, path: parsePath(path) })),
  // Missing folders of the target are created.
  target: ({ target }) => (target ? [{ providerId: target.providerId, path: parseNewPath(target.path) }] : []),
}

function locateAll(locations: Inputs['sources']['sources']): Location[] {
  return locations.map(({ providerId, path }) => ({ providerId, path: parsePath(path) }))
}

/**
 * Grants an operation without any lookup, or returns the grants of an earlier decision. Checks the scope first, then the syntax of each path, then whether the viewer
 * may access each location.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, INVALID_PATH, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH; NOT_FOUND for a malformed
 * id of an entry in the trash
 */
export function authorize<const N extends readonly Need[]>(
  viewer: Viewer | null,
  operation: N,
  input: Asked<N>,
): GrantsOf<N> {
  return grantAll(viewer, operation, input) as unknown as GrantsOf<N>
}

function grantAll(viewer: Viewer | null, operation: readonly Need[], input: object): Grant[] {
  // No input of a client is an instance of this class.
  if ('authorized' in input && input.authorized instanceof Authorized) return input.authorized.for(viewer, operation)
  const highest = highestScope(operation.map(need => need.scope))
  const present = highest && requireScopeAnywhere(viewer, highest)
  const located = operation.flatMap(({ scope, at, isNew }) =>
    [locate[at](input as never)].flat().map(location => ({ scope, isNew, ...location })),
  )
  return located.map(need => grant(present, need))
}

/** Paths of a provider, and a grant for the deepest folder that contains them. */
export interface GrantedPaths {
  common: Grant<'read'>
  paths: StoragePath[]
}

/**
 * Grants reading several paths of a provider.
 * @returns the paths, each once, in one group for each path at which the access of the viewer begins
 * @throws as `authorize`; INVALID_INPUT for no path
 */
export function authorizeAll(
  viewer: Viewer | null,
  input: InputOf<typeof needs.readAll>,
): readonly [GrantedPaths, ...GrantedPaths[]] {
  const granted = new Map(grantAll(viewer, needs.readAll, input).map(each => [each.path, each]))
  const groups = [...Map.groupBy(granted.values(), topOf).values()].map((group): GrantedPaths => {
    const paths = group.map(({ path }) => path)
    return { common: grant(viewer, { scope: 'read', providerId: input.providerId, path: commonPath(paths) }), paths }
  })
  const [first, ...others] = groups
  if (!first) throw new AppError('INVALID_INPUT', '"paths" must name at least one file or folder.')
  return [first, ...others]
}

/** The locations of a job. */
export interface JobInput {
  kind: 'COPY' | 'MOVE' | 'DELETE' | 'SYNC' | 'CHECKSUM' | 'VERIFY' | 'RESTORE' | 'KEEP_COPIES'
  sources: readonly { providerId: string; path: string }[]
  /** Null for the kinds without a target. */
  target?: { providerId: string; path: string } | null | undefined
  /** Whether a KEEP_COPIES also changes its original. */
  repair?: boolean | null | undefined
  keeping?: { repair: boolean } | null | undefined
}

/** Returns what a job needs. */
export function needsOfJob({ kind, repair, keeping }: Pick<JobInput, 'kind' | 'repair' | 'keeping'>): readonly Need[] {
  if (kind === 'KEEP_COPIES') return repair || keeping?.repair ? needs.repairCopies : needs.keepCopies
  if (kind === 'CHECKSUM' || kind === 'VERIFY') return needs.readJob
  return kind === 'COPY' || kind === 'SYNC' ? needs.copyJob : needs.moveJob
}

/** Grants a job, like `authorize`. @throws as `authorize` */
export function authorizeJob(
  viewer: Viewer | null,
  input: JobInput,
): { sources: Grant<'read' | 'write'>[]; target: Grant<'write'> | null } {
  const grants = grantAll(viewer, needsOfJob(input), input)
  const sources = grants.slice(0, input.sources.length) as Grant<'read' | 'write'>[]
  return { sources, target: (grants[input.sources.length] as Grant<'write'> | undefined) ?? null }
}

/** Grants following several locations, with one grant for each. @throws as `authorize` */
export function authorizeFollowing(
  viewer: Viewer | null,
  input: Asked<typeof needs.follow>,
): readonly [Grant<'read'>, ...Grant<'read'>[]] {
  return grantAll(viewer, needs.follow, input) as [Grant<'read'>, ...Grant<'read'>[]]
}

/** Grants a search: in some folders, or in everything that the viewer may access. @throws as `authorize` */
export function authorizeSearch(viewer: Viewer | null, input: Asked<typeof needs.search>): SearchGrant {
  requireScope(viewer, 'read')
  return grantSearch(viewer, grantAll(viewer, needs.search, input))
}

/** Returns the needs of the creator of a share. */
export function needsOfShare(kind: ShareKind): readonly Need[] {
  return kind === 'VIEW' ? needs.shareToView : needs.shareToDrop
}

/** Grants a share, with one grant for each of its paths. @throws as `authorize` */
export function authorizeShare(
  viewer: Viewer | null,
  input: { kind: ShareKind; providerId: string; path: string; morePaths?: readonly string[] | null | undefined },
): readonly [Grant<'read' | 'write'>, ...Grant<'read' | 'write'>[]] {
  return grantAll(viewer, needsOfShare(input.kind), input) as [Grant<'read' | 'write'>, ...Grant<'read' | 'write'>[]]
}

/**
 * Grants a webhook: at a location or, for null, for all events of the workspace.
 * @throws as `authorize`; PROVIDER_NOT_ALLOWED for null without access to all providers
 */
export function authorizeWebhook(
  viewer: Viewer | null,
  location: { providerId: string; path: string } | null | undefined,
): { viewer: Viewer; grant: Grant<'admin'> | null } {
  if (!location) return { viewer: requireWorkspaceAdmin(viewer), grant: null }
  const [granted] = authorize(viewer, needs.webhook, location)
  return { viewer: granted.viewer, grant: granted }
}
