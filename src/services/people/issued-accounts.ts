/** Accounts and groups that follow an issuer: who gets an account at their first sign-in, and the groups that the issuer names. */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { allProviders, type ProviderAccess } from '../../auth/access.ts'
import type { Role } from '../../auth/scopes.ts'
import type { Member, Origin } from '../../auth/viewer.ts'
import { type Change, type Database, isUniqueViolation } from '../../db/client.ts'
import {
  countGroupMembers,
  findGroups,
  findGroupsNamed,
  insertGroupMember,
  issuedGroupsOf,
  putIssuedGroups,
} from '../../db/groups.ts'
import { insertIdentity } from '../../db/identities.ts'
import { findMember, insertMember } from '../../db/members.ts'
import { insertUser } from '../../db/users.ts'
import { findTheWorkspace, lockWorkspace, type Workspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import { parseEmail, parseName } from '../input.ts'
import { maxGroupMembers, maxGroupsOfMember } from './groups.ts'
import type { AdmissionRule } from './issuer-registry.ts'
import type { IssuedIdentity } from './oidc-claims.ts'
import { acceptInvite } from './registration.ts'

/** Why somebody gets an account at their first sign-in. */
export type Admission = 'INVITE' | 'GROUP' | 'DOMAIN'

/**
 * Returns why somebody who signs in for the first time gets an account. They need an invite, a group of the workspace that the issuer
 * names, or a verified email in a domain of the issuer's rule. An open registration is not enough: people who have an account would
 * get another one here.
 * @throws NOT_LINKED
 */
export async function admissionOf(
  db: Database,
  workspace: Workspace | null,
  { groups, email, isEmailVerified }: IssuedIdentity,
  { domains }: AdmissionRule,
  hasInvite: boolean,
): Promise<Admission> {
  if (!workspace) throw new AppError('NOT_LINKED', 'The first account needs a password: register it, then link yours.')
  if (workspace.registration === 'CLOSED') throw new AppError('NOT_LINKED', unknownMessage(workspace))
  const named = hasInvite ? [] : await findGroupsNamed(db, workspace.id, groups ?? [])
  const isInGroup = named.some(({ role }) => role !== 'NONE')
  const domain = isEmailVerified && email !== null ? domainOf(email) : null
  const isInDomain = domain !== null && domains.includes(domain)
  if (!hasInvite && !isInGroup && !isInDomain) throw new AppError('NOT_LINKED', unknownMessage(workspace))
  if (email === null) {
    throw new AppError('NOT_LINKED', 'The issuer does not name your email address, which a new account needs.')
  }
  return hasInvite ? 'INVITE' : isInDomain ? 'DOMAIN' : 'GROUP'
}

/** Returns the domain of an email, as `parseDomain` returns it; null for one that no rule can name. */
function domainOf(email: string): string | null {
  return asciiDomain(email.slice(email.lastIndexOf('@') + 1))
}

/** The domain of emails in a rule. @throws INVALID_INPUT */
export function parseDomain(text: string): string {
  const domain = asciiDomain(text.trim())
  if (domain === null) throw new AppError('INVALID_INPUT', 'A domain looks like example.org, without "@".')
  return domain
}

/** Characters: RFC 1035, section 2.3.4. */
const maxDomain = 253
const domainPattern = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/

/**
 * Returns a domain in lowercase ASCII; null for other text. `domainToASCII` parses the host of a URL: it also decodes "%2e", ends at "/",
 * and takes numbers for addresses.
 */
function asciiDomain(text: string): string | null {
  if (text.length > maxDomain || /[\s%/\\?#@:[\]]/.test(text)) return null
  const domain = domainToASCII(text).toLowerCase()
  const isName = domain.length <= maxDomain && domainPattern.test(domain) && isIP(domain) === 0
  return isName ? domain : null
}

/**
 * Creates an account for somebody who signs in for the first time.
 * @throws NOT_LINKED, INVALID_INVITE, INVALID_INPUT
 */
export async function createIssuedAccount(
  trx: Change,
  issued: IssuedIdentity,
  rule: AdmissionRule,
  invite: string | null,
  origin: Origin,
): Promise<{ member: Member; identityId: string }> {
  const workspace = await findTheWorkspace(trx)
  const admission = await admissionOf(trx, workspace, issued, rule, invite !== null)
  // Without an invite or a verified address, no administrator has confirmed who they are.
  const membership =
    invite === null
      ? ({
          workspaceId: workspace?.id ?? '',
          role: 'NONE',
          access: allProviders,
          isConfirmed: admission === 'DOMAIN',
        } as const)
      : { ...(await acceptInvite(trx, invite, origin)), isConfirmed: true }
  const created = await insertIssuedAccount(trx, issued, membership, takenMessage(workspace))
  if (admission !== 'DOMAIN') return created
  const { workspaceId, userId } = created.member
  for (const group of await findGroups(trx, workspaceId, rule.groupIds)) {
    await insertGroupMember(trx, { workspaceId, groupId: group.id, userId })
  }
  return { ...created, member: (await findMember(trx, workspaceId, userId)) ?? created.member }
}

/**
 * Creates an account without a password, for an identity that has none.
 * @throws NOT_LINKED if the email belongs to another account, INVALID_INPUT
 */
export async function insertIssuedAccount(
  trx: Change,
  { issuer, subject, email, name }: Pick<IssuedIdentity, 'issuer' | 'subject' | 'email' | 'name'>,
  membership: { workspaceId: string; role: Role; access: ProviderAccess; isConfirmed: boolean },
  whenTaken = isTaken,
): Promise<{ member: Member; identityId: string }> {
  if (email === null) {
    throw new AppError(
      'NOT_LINKED',
      'Nobody names your email address, which a new account needs: ask an administrator.',
    )
  }
  const account = {
    email: parseEmail(email),
    name: name === null ? null : parseName(name, 'A name'),
    passwordHash: null,
  }
  const userId = await insertUser(trx, account).catch(error => {
    if (!isUniqueViolation(error)) throw error
    throw new AppError('NOT_LINKED', whenTaken)
  })
  const member = await insertMember(trx, { userId, ...membership })
  const { workspaceId } = membership
  const identity = await insertIdentity(trx, { workspaceId, userId, issuer, subject, email })
  return { member, identityId: identity.id }
}

const isTaken =
  'Your email address belongs to another account. Sign in to that account and link this one in the profile, or ask an administrator for an invite to link it.'
const linkLater = 'Passwords are for some owners only: ask an administrator for an invite to link your account.'

/** Says why an email address gives no account, and what its person can do. */
export function takenMessage(workspace: Workspace | null): string {
  return workspace?.passwordOwners ? `Your email address belongs to another account. ${linkLater}` : isTaken
}

/** Says what a person without a linked account can do; undefined for the usual advice. */
function unknownMessage({ passwordOwners }: Workspace): string | undefined {
  return passwordOwners ? `No account is linked with this identity. ${linkLater}` : undefined
}

/**
 * Makes a member's groups follow the issuer: they join the groups that it names, and leave those that it named before. Memberships
 * that an administrator has made, or that another issuer has named, stay, and a group that is full takes nobody.
 * @returns the member, and the names of the groups that changed
 */
export async function followIssuedGroups(
  trx: Change,
  member: Member,
  { issuer, groups }: Pick<IssuedIdentity, 'issuer' | 'groups'>,
): Promise<{ member: Member; changes: { joined: string[]; left: string[] } | null }> {
  if (groups === null || member.isService) return { member, changes: null }
  const { workspaceId, userId } = member
  const compare = async (of: Member) => {
    const named = await findGroupsNamed(trx, workspaceId, groups)
    const before = await issuedGroupsOf(trx, workspaceId, userId)
    const present = new Set(of.groups.map(({ id }) => id))
    return {
      joined: named.filter(({ id }) => !present.has(id)),
      left: of.groups.filter(({ id }) => before.get(id) === issuer && !named.some(group => group.id === id)),
    }
  }
  const wish = await compare(member)
  if (wish.joined.length === 0 && wish.left.length === 0) return { member, changes: null }
  await lockWorkspace(trx, workspaceId)
  const now = (await findMember(trx, workspaceId, userId)) ?? member
  const { joined, left } = await compare(now)
  const ids = (some: readonly { id: string }[]) => some.map(({ id }) => id)
  const members = joined.length === 0 ? new Map<string, number>() : await countGroupMembers(trx, ids(joined))
  const free = Math.max(maxGroupsOfMember - now.groups.length + left.length, 0)
  const joining = joined.filter(({ id }) => (members.get(id) ?? 0) < maxGroupMembers).slice(0, free)
  if (joining.length === 0 && left.length === 0) return { member: now, changes: null }
  await putIssuedGroups(trx, issuer, { workspaceId, userId, joined: ids(joining), left: ids(left) })
  const names = (some: readonly { name: string }[]) => some.map(({ name }) => name)
  return {
    member: (await findMember(trx, workspaceId, userId)) ?? now,
    changes: { joined: names(joining), left: names(left) },
  }
}
