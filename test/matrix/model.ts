/**
 * What the specification promises about who may do what: pure, and without a look at how the server keeps it.
 *
 * Several things can be wrong with one request; it is told of the first, in this order: the credential, what kind of
 * credential it is, its scope, how the paths are spelled, then where they lead, in the order of the arguments.
 */

export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]
export const roles = ['NONE', 'VIEWER', 'EDITOR', 'ADMIN', 'OWNER'] as const
export type Role = (typeof roles)[number]
/** All providers, or base paths by provider. */
export type Access = 'all' | Readonly<Record<string, string>>

export interface Member {
  role: Role
  access: Access
}

export interface Credential {
  kind: 'none' | 'session' | 'key'
  /** The reasons that a credential which is no good may be refused with; null for a good one. */
  faults: readonly string[] | null
  /** Of today: a key shrinks with its owner. */
  owner: Member
  key: { scopes: readonly Scope[]; access: Access } | null
  /** What it comes in, if not in the header Authorization. */
  carrier?: 'cookie'
}

/** A location that an operation touches. `makes` is a name that is about to be made there. */
export interface Location {
  provider: string
  path: string
  makes?: boolean
}

export interface Need {
  who: 'anyone' | 'anybody signed in' | 'session' | 'session in the header' | 'key manager'
  /** A cookie that is no good does not keep anybody away. */
  ignoresCookie?: true
  scope?: Scope
  /**
   * Beside the locations that a request names: `reach` is something in the provider, `whole` all of it, `every` also the
   * providers that do not exist yet.
   */
  where?: 'paths' | 'reach' | 'whole' | 'every'
}

export type Verdict = { may: true } | { may: false; code: string; reasons: readonly string[] }

const granted: Verdict = { may: true }
const refuse = (code: string, ...reasons: string[]): Verdict => ({ may: false, code, reasons })

export function judge(by: Credential, need: Need, locations: readonly Location[] = []): Verdict {
  if (need.ignoresCookie && by.carrier === 'cookie') return granted
  if (by.faults) return refuse('UNAUTHENTICATED', ...by.faults)
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
  if (need.where === 'paths' && !locations.every(isSpelled)) return refuse('BAD_USER_INPUT', 'INVALID_PATH')
  for (const location of locations) {
    const base = baseIn(by, location.provider)
    if (base === null) return refuse('FORBIDDEN', 'PROVIDER_NOT_ALLOWED')
    if (need.where !== 'reach' && !isBelow(need.where === 'whole' ? '/' : location.path, base)) {
      return refuse('FORBIDDEN', 'OUTSIDE_BASE_PATH')
    }
  }
  return granted
}

/** May `by` give somebody this? Roles are given by those who have them, and nobody gives what they do not reach. */
export function judgeGift(by: Credential, gift: Member): Verdict {
  const scope = scopeOfRole(gift.role)
  const above = roles.indexOf(gift.role) > roles.indexOf(by.owner.role)
  const covered = scope === null || (hasScope(by, scope) && reachesWhatever(by, gift.access))
  return above || !covered ? refuse('FORBIDDEN', 'EXCEEDS_OWN_REACH') : granted
}

/** A key of one's own: "all providers" means all that its owner reaches. */
export function judgeNewKey(by: Credential, key: { scopes: readonly Scope[]; access: Access }): Verdict {
  const covered =
    key.scopes.every(scope => hasScope(by, scope)) && (key.access === 'all' || reachesWhatever(by, key.access))
  return covered ? granted : refuse('FORBIDDEN', 'EXCEEDS_OWN_REACH')
}

/** Scopes are additive, and nobody has more than their role. */
export function hasScope(by: Credential, scope: Scope): boolean {
  const rank = scopes.indexOf(scope)
  const ofKey = by.key === null || by.key.scopes.some(given => scopes.indexOf(given) >= rank)
  const ofRole = scopeOfRole(by.owner.role)
  return by.kind !== 'none' && ofKey && ofRole !== null && scopes.indexOf(ofRole) >= rank
}

export function reachesAll(by: Credential): boolean {
  return accesses(by).every(access => access === 'all')
}

/** The folder of a provider that the credential is held to; null where it may not use the provider at all. */
export function baseIn(by: Credential, provider: string): string | null {
  const bases = accesses(by).map(access => (access === 'all' ? '/' : access[provider]))
  const deepest = bases.reduce((deeper, base) => ((base?.length ?? 0) > (deeper?.length ?? 0) ? base : deeper), '/')
  const holds = (base: string | undefined) => base !== undefined && deepest !== undefined && isBelow(deepest, base)
  return scopeOfRole(by.owner.role) !== null && bases.every(holds) ? (deepest ?? null) : null
}

/** `/backups` holds `/backups` and everything below it, and never `/backups-old`. */
export function isBelow(path: string, base: string): boolean {
  return base === '/' || path === base || path.startsWith(`${base}/`)
}

/** Absolute, no empty, `.` or `..` segment, no NUL, well-formed, 4096 bytes at most; nothing is decoded. */
export function isSpelled({ path, makes }: Location): boolean {
  if (path === '/') return true
  const [first, ...segments] = path.split('/')
  const isName = (name: string) => name !== '' && name !== '.' && name !== '..' && !name.includes('\0')
  const isPath =
    first === '' && segments.length > 0 && path.isWellFormed() && new TextEncoder().encode(path).length <= 4096
  return isPath && segments.every(name => isName(name) && (!makes || !misleads(name)))
}

/** What is made gets no name that another system could read as a path, however often it decodes. */
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

function scopeOfRole(role: Role): Scope | null {
  const reached = { NONE: null, VIEWER: 'read', EDITOR: 'write', ADMIN: 'admin', OWNER: 'admin' } as const
  return reached[role]
}

function accesses(by: Credential): Access[] {
  return by.key ? [by.owner.access, by.key.access] : [by.owner.access]
}

function reachesWhatever(by: Credential, access: Access): boolean {
  if (access === 'all') return reachesAll(by)
  return Object.entries(access).every(([provider, base]) => {
    const own = baseIn(by, provider)
    return own !== null && isBelow(base, own)
  })
}
