/**
 * The permissions that the specification promises, as pure functions that share no code with the server.
 *
 * A request with several errors is refused for the first one, in this order: the credential, its kind, its scope, the
 * spelling of the paths, and the access to each location in the order of the arguments.
 */

export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]
export const roles = ['NONE', 'VIEWER', 'EDITOR', 'ADMIN', 'OWNER'] as const
export type Role = (typeof roles)[number]
/** All providers, or a base path for each listed provider. A member may have several in one provider. */
export type Access = 'all' | Readonly<Record<string, string | readonly string[]>>

export interface Member {
  role: Role
  access: Access
}

/** The rights of a member with groups: the strongest role, and the access of all that give a role. */
export function withGroups(own: Member, groups: readonly Member[]): Member {
  const giving = [own, ...groups].filter(({ role }) => role !== 'NONE')
  const role = roles.findLast(each => giving.some(one => one.role === each)) ?? 'NONE'
  if (giving.some(({ access }) => access === 'all')) return { role, access: 'all' }
  const bases = giving
    .flatMap(({ access }) => Object.entries(access))
    .map(([id, paths]) => [id, [paths].flat()] as const)
  const access = [...Map.groupBy(bases, ([id]) => id)].map(([id, some]) => [id, some.flatMap(([, paths]) => paths)])
  return { role, access: Object.fromEntries(access) }
}

export interface Credential {
  kind: 'none' | 'session' | 'key'
  /** The possible reasons for refusing an invalid credential; null for a valid one. */
  faults: readonly string[] | null
  /** The current role and access of the owner with their groups, which also limit their keys. */
  owner: Member
  key: { scopes: readonly Scope[]; access: Access } | null
  /** Set if the credential is not in the Authorization header. */
  carrier?: 'cookie'
  /** The token of a connection that is for the MCP endpoint alone. */
  isMcpOnly?: boolean
}

/** A location that an operation uses. `makes` is true if the operation creates a name there. */
export interface Location {
  provider: string
  path: string
  makes?: boolean
}

export interface Need {
  /** `the holder of a link`: no credential but the token in the path of the request. */
  who: 'the holder of a link' | 'anyone' | 'anybody signed in' | 'session' | 'session in the header' | 'key manager'
  /** A cookie is ignored, valid or not. */
  ignoresCookie?: true
  scope?: Scope
  /** The MCP endpoint, at which tokens for it alone are valid. */
  isMcp?: true
  /**
   * The access that the operation needs: `paths` to each location, `way` to it or to something below it, `reach` to any part of the provider, `whole` to all of
   * it, `every` to all providers, including future ones.
   */
  where?: 'paths' | 'way' | 'reach' | 'whole' | 'every'
  /** The paths are in the body, which is parsed only for those who have access to some of the provider. */
  inBody?: true
}

export type Verdict = { may: true } | { may: false; code: string; reasons: readonly string[] }

const granted: Verdict = { may: true }
const refuse = (code: string, ...reasons: string[]): Verdict => ({ may: false, code, reasons })

export function judge(by: Credential, need: Need, locations: readonly Location[] = []): Verdict {
  if (need.who === 'the holder of a link') return refuse('UNAUTHENTICATED', 'INVALID_CREDENTIAL')
  if (need.ignoresCookie && by.carrier === 'cookie') {
    return need.who === 'anyone' ? granted : refuse('UNAUTHENTICATED', 'CREDENTIAL_REQUIRED')
  }
  if (by.faults) return refuse('UNAUTHENTICATED', ...by.faults)
  if (by.isMcpOnly && !need.isMcp) return refuse('UNAUTHENTICATED', 'INVALID_CREDENTIAL')
  if (need.who === 'anyone') return granted
  if (by.kind === 'none') return refuse('UNAUTHENTICATED', 'CREDENTIAL_REQUIRED')
  const isForSessions = need.who === 'session' || need.who === 'session in the header'
  const isInCookie = need.who === 'session in the header' && by.carrier === 'cookie'
  if (isForSessions && (by.kind !== 'session' || isInCookie)) return refuse('FORBIDDEN', 'SESSION_REQUIRED')
  if (need.who === 'key manager' && by.kind === 'key' && !(hasScope(by, 'admin') && reachesAll(by))) {
    return refuse('FORBIDDEN', 'SESSION_REQUIRED')
  }
  if (need.scope && !hasScope(by, need.scope)) return refuse('FORBIDDEN', 'SCOPE_REQUIRED')
  if (need.where === 'every' && !reachesAll(by)) return refuse('FORBIDDEN', 'PROVIDER_NOT_ALLOWED')
  if (need.inBody && locations.some(({ provider }) => basesIn(by, provider).length === 0)) {
    return refuse('FORBIDDEN', 'PROVIDER_NOT_ALLOWED')
  }
  if ((need.where === 'paths' || need.where === 'way') && !locations.every(isSpelled))
    return refuse('BAD_USER_INPUT', 'INVALID_PATH')
  for (const location of locations) {
    const bases = basesIn(by, location.provider)
    if (bases.length === 0) return refuse('FORBIDDEN', 'PROVIDER_NOT_ALLOWED')
    if (need.where === 'way' && bases.some(base => isBelow(base, location.path))) continue
    const path = need.where === 'whole' ? '/' : location.path
    if (need.where !== 'reach' && !bases.some(base => isBelow(path, base))) {
      return refuse('FORBIDDEN', 'OUTSIDE_BASE_PATH')
    }
  }
  return granted
}

/** Judges whether `by` may grant this role and access. Both must be covered by their own. */
export function judgeGift(by: Credential, gift: Member): Verdict {
  const scope = scopeOfRole(gift.role)
  const above = roles.indexOf(gift.role) > roles.indexOf(by.owner.role)
  const covered = scope === null || (hasScope(by, scope) && reachesWhatever(by, gift.access))
  return above || !covered ? refuse('FORBIDDEN', 'EXCEEDS_OWN_REACH') : granted
}

/** Judges a new key for oneself. Its "all providers" means all providers of the owner. */
export function judgeNewKey(by: Credential, key: { scopes: readonly Scope[]; access: Access }): Verdict {
  const covered =
    key.scopes.every(scope => hasScope(by, scope)) && (key.access === 'all' || reachesWhatever(by, key.access))
  return covered ? granted : refuse('FORBIDDEN', 'EXCEEDS_OWN_REACH')
}

/** Each scope includes those before it. The role limits the scopes of a key. */
export function hasScope(by: Credential, scope: Scope): boolean {
  const rank = scopes.indexOf(scope)
  const ofKey = by.key === null || by.key.scopes.some(given => scopes.indexOf(given) >= rank)
  const ofRole = scopeOfRole(by.owner.role)
  return by.kind !== 'none' && ofKey && ofRole !== null && scopes.indexOf(ofRole) >= rank
}

export function reachesAll(by: Credential): boolean {
  return accesses(by).every(access => access === 'all')
}

/** Returns the base paths of the credential in a provider; none if it may not use the provider. */
export function basesIn(by: Credential, provider: string): string[] {
  if (scopeOfRole(by.owner.role) === null) return []
  const given = accesses(by).map(access => (access === 'all' ? ['/'] : [access[provider] ?? []].flat()))
  const isCommon = (path: string) => given.every(bases => bases.some(base => isBelow(path, base)))
  return [...new Set(given.flat().filter(isCommon))].toSorted()
}

/** Whether the credential may use a path of a provider. */
export function reaches(by: Credential, provider: string, path: string): boolean {
  return basesIn(by, provider).some(base => isBelow(path, base))
}

/** `/backups` contains `/backups` and everything below it, but not `/backups-old`. */
export function isBelow(path: string, base: string): boolean {
  return base === '/' || path === base || path.startsWith(`${base}/`)
}

/**
 * A valid path is absolute and well-formed, has at most 4096 bytes and no empty, `.` or `..` segment, no NUL and no name of the
 * folder for deleted files. Nothing is decoded.
 */
export function isSpelled({ path, makes }: Location): boolean {
  if (path === '/') return true
  const [first, ...segments] = path.split('/')
  const isName = (name: string) =>
    name !== '' && name !== '.' && name !== '..' && !name.includes('\0') && !isReserved(name)
  const isPath =
    first === '' && segments.length > 0 && path.isWellFormed() && new TextEncoder().encode(path).length <= 4096
  return isPath && segments.every(name => isName(name) && (!makes || !misleads(name)))
}

/** Whether a file system could take a name for the folder of deleted files. */
export function isReserved(name: string): boolean {
  const shown = name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKD')
    .toLowerCase()
  return /^\.stowage-trash[. ]*(?::|$)/.test(shown)
}

/** Whether another system could read a new name as a path, after any number of decodings. */
function misleads(name: string): boolean {
  let decoded = name
  for (let before = ''; before !== decoded; ) {
    before = decoded
    decoded = decoded.replace(/%(25|2e|2f|5c|00)/gi, code => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
  }
  const isSafe = (character: string) =>
    character >= ' ' && character !== '\x7f' && character !== '/' && character !== '\\'
  return ![...decoded].every(isSafe) || decoded === '.' || decoded === '..'
}

/**
 * Whether a credential sees, changes and ends what another one made: its own things, in a session all of the member, and as an
 * administrator without restrictions everything.
 */
export function owns(by: Named, made: Pick<Named, 'userId' | 'keyId'>): boolean {
  return isMaker(by, made) || (hasScope(by, 'admin') && reachesAll(by))
}

/** Whether a credential learns the secrets of what another one made. */
export function isMaker(by: Named, made: Pick<Named, 'userId' | 'keyId'>): boolean {
  return by.userId === made.userId && (by.kind === 'session' || (by.kind === 'key' && by.keyId === made.keyId))
}

type Named = Credential & { userId: string | null; keyId: string | null }

function scopeOfRole(role: Role): Scope | null {
  const reached = { NONE: null, VIEWER: 'read', EDITOR: 'write', ADMIN: 'admin', OWNER: 'admin' } as const
  return reached[role]
}

function accesses(by: Credential): Access[] {
  return by.key ? [by.owner.access, by.key.access] : [by.owner.access]
}

function reachesWhatever(by: Credential, access: Access): boolean {
  if (access === 'all') return reachesAll(by)
  return Object.entries(access).every(([provider, bases]) => [bases].flat().every(base => reaches(by, provider, base)))
}
