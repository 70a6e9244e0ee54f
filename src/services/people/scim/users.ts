/**
 * People whose accounts a directory manages over SCIM. The parsed resources of a request enter, and members and groups of the
 * workspace leave as resources.
 *
 * This file has users (RFC 7643, section 4.1): members whose account a directory manages.
 */
import { allProviders } from '../../../auth/access.ts'
import { isId } from '../../../auth/id.ts'
import { type Change, type Database, isUniqueViolation } from '../../../db/client.ts'
import { findEmailHolder } from '../../../db/directories.ts'
import { deleteIssuedIdentity, insertIdentity } from '../../../db/identities.ts'
import { deactivateIssuedMember, deleteMember, insertMember, reactivateMember } from '../../../db/members.ts'
import {
  findScimUser,
  insertScimUser,
  listScimUsers,
  type ScimTerm,
  type ScimUser,
  type ScimUserField,
  updateScimUser,
} from '../../../db/scim.ts'
import { scimSource } from '../../../db/scim-tokens.ts'
import { revokeSessionsOf } from '../../../db/sessions.ts'
import { deleteUserWithoutMembership, insertUser, setUserEmail, updateUser } from '../../../db/users.ts'
import { AppError } from '../../../errors.ts'
import type { Audit, Recording } from '../../audit/index.ts'
import { parseEmail, parseName } from '../../input.ts'
import { recordScim, type ScimClient } from './tokens.ts'

/** The facts that a client states about a user. */
export interface ScimUserValues {
  userName: string
  externalId: string | null
  email: string
  displayName: string | null
  givenName: string | null
  familyName: string | null
  isActive: boolean
}

/** Users in one page. */
export const maxScimPage = 200
/** Characters, and bytes of UTF-8 in any normal form that the database keeps. */
const maxText = 200
const maxKeyBytes = 1000
/** Bytes of a subject of OpenID Connect. */
const maxSubjectBytes = 255

export function createScimUsers({ db, audit }: { db: Database; audit: Audit }) {
  async function require(trx: Database, { token }: ScimClient, id: string): Promise<ScimUser> {
    const user = isId(id) ? await findScimUser(trx, token, id) : null
    if (!user) throw new AppError('NOT_FOUND', 'There is no such user.')
    return user
  }

  /** A directory never changes an owner, so that a fault of it locks nobody out of the workspace. */
  async function requireChangeable(trx: Database, client: ScimClient, id: string): Promise<ScimUser> {
    const user = await require(trx, client, id)
    if (user.member.own.role === 'OWNER') {
      throw new AppError('EXCEEDS_OWN_REACH', 'This member is an owner, whom no directory changes.')
    }
    return user
  }

  async function setActive(
    change: Change,
    { token: { directory } }: ScimClient,
    { member }: ScimUser,
    isActive: boolean,
    recording: Recording,
  ): Promise<void> {
    if (isActive) {
      if (!(await reactivateMember(change, member, scimSource(directory)))) return
      recording.become('MEMBER_REACTIVATE')
      recording.add({ details: { active: true } })
      return
    }
    if (!(await deactivateIssuedMember(change, member, scimSource(directory)))) return
    await revokeSessionsOf(change, member.userId)
    recording.become('MEMBER_DEACTIVATE')
    recording.add({ details: { active: false } })
  }

  return {
    /** @param page.offset from 0 */
    list(
      { token }: ScimClient,
      terms: readonly ScimTerm<ScimUserField>[],
      page: { offset: number; limit: number },
    ): Promise<{ total: number; items: ScimUser[] }> {
      return listScimUsers(db, token, terms, { ...page, limit: Math.min(page.limit, maxScimPage) })
    },

    /** @throws NOT_FOUND */
    get(client: ScimClient, id: string): Promise<ScimUser> {
      return require(db, client, id)
    },

    /**
     * Creates an account without a password and without a role: groups give one. No administrator has confirmed who has the address.
     * @throws ALREADY_EXISTS, INVALID_INPUT, INVALID_CREDENTIAL
     */
    create(client: ScimClient, given: ScimUserValues): Promise<ScimUser> {
      const values = parseValues(given)
      const { email, displayName: name, externalId } = values
      const { workspaceId, directory } = client.token
      const { issuer } = directory
      return recordScim(audit, client, 'MEMBER_CREATE', { details: { email, name } }, async (change, recording) => {
        await requireFreeEmail(change, client, email)
        const userId = await insertUser(change, { email, name, passwordHash: null })
        const membership = { workspaceId, userId, role: 'NONE', access: allProviders, isConfirmed: false } as const
        await insertMember(change, membership)
        recording.add({ subject: { kind: 'MEMBER', id: userId } })
        await insertScimUser(change, client.token, userId, values).catch(toTaken)
        if (issuer !== null && externalId !== null) {
          requireSubject(externalId)
          await insertIdentity(change, { workspaceId, userId, issuer, subject: externalId, email }).catch(toTaken)
        }
        const user = await require(change, client, userId)
        // The next step is part of the creation.
        if (!values.isActive) {
          await deactivateIssuedMember(change, user.member, scimSource(client.token.directory))
          recording.add({ details: { active: false } })
        }
        return require(change, client, userId)
      })
    },

    /**
     * Changes a user. Deactivation ends their sessions and keys at once.
     * @param next returns what the client wants, from what there is
     * @throws NOT_FOUND, EXCEEDS_OWN_REACH, ALREADY_EXISTS, INVALID_INPUT, INVALID_CREDENTIAL
     */
    async update(client: ScimClient, id: string, next: (current: ScimUserValues) => ScimUserValues): Promise<ScimUser> {
      const before = await require(db, client, id)
      const { email, name } = before.member
      const facts = { subject: { kind: 'MEMBER', id }, details: { email, name } } as const
      return recordScim(audit, client, 'MEMBER_UPDATE', facts, async (change, recording) => {
        const user = await requireChangeable(change, client, id)
        const current = valuesOf(user)
        const values = parseValues(next(current))
        await follow(change, client, user, values, recording)
        await setActive(change, client, user, values.isActive, recording)
        return require(change, client, id)
      })
    },

    /** Removes a member, with their sessions, keys and shares. @throws NOT_FOUND, EXCEEDS_OWN_REACH, INVALID_CREDENTIAL */
    async remove(client: ScimClient, id: string): Promise<void> {
      await require(db, client, id)
      const subject = { kind: 'MEMBER', id } as const
      await recordScim(audit, client, 'MEMBER_REMOVE', { subject }, async (change, recording) => {
        const { member } = await requireChangeable(change, client, id)
        recording.add({ details: { email: member.email, name: member.name } })
        await deleteMember(change, member.workspaceId, member.userId)
        await deleteUserWithoutMembership(change, member.userId)
      })
    },
  }

  async function follow(
    change: Change,
    client: ScimClient,
    user: ScimUser,
    values: ScimUserValues,
    recording: Recording,
  ): Promise<void> {
    const { userId, workspaceId, email, name } = user.member
    if (values.email !== email) {
      const isOther = values.email.toLowerCase() !== email.toLowerCase()
      if (isOther) await requireFreeEmail(change, client, values.email)
      await setUserEmail(change, userId, values.email)
      recording.add({ details: { newEmail: values.email } })
    }
    if (values.displayName !== name) {
      await updateUser(change, userId, { name: values.displayName })
      recording.add({ details: { newName: values.displayName } })
    }
    await updateScimUser(change, user, values).catch(toTaken)
    const { issuer } = client.token.directory
    if (issuer !== null && values.externalId !== user.externalId) {
      if (user.externalId !== null) await deleteIssuedIdentity(change, { userId, issuer, subject: user.externalId })
      if (values.externalId !== null) {
        requireSubject(values.externalId)
        const identity = { workspaceId, userId, issuer, subject: values.externalId, email: values.email }
        await insertIdentity(change, identity).catch(toTaken)
      }
    }
  }
}

export type ScimUsers = ReturnType<typeof createScimUsers>

function valuesOf({ member, userName, externalId, givenName, familyName }: ScimUser): ScimUserValues {
  return {
    userName,
    externalId,
    email: member.email,
    displayName: member.name,
    givenName,
    familyName,
    isActive: member.deactivatedAt === null,
  }
}

/** @throws INVALID_INPUT */
function parseValues(values: ScimUserValues): ScimUserValues {
  const optional = (text: string | null, what: string) => (text === null ? null : parseName(text, what))
  return {
    userName: parseText(values.userName, 'userName'),
    externalId: values.externalId === null ? null : parseText(values.externalId, 'externalId'),
    email: parseEmail(values.email),
    displayName: optional(values.displayName, 'displayName'),
    givenName: optional(values.givenName, 'name.givenName'),
    familyName: optional(values.familyName, 'name.familyName'),
    isActive: values.isActive,
  }
}

/** @throws INVALID_INPUT */
export function parseText(text: string, what: string): string {
  const isShort = text.length <= maxText && Buffer.byteLength(text.normalize('NFKC')) <= maxKeyBytes
  if (text === '' || !isShort || !text.isWellFormed() || /\p{Cc}/u.test(text)) {
    throw new AppError('INVALID_INPUT', `${what} has 1 to ${maxText} characters and no control characters.`)
  }
  return text
}

/** @throws INVALID_INPUT */
function requireSubject(externalId: string): void {
  if (Buffer.byteLength(externalId) > maxSubjectBytes) {
    throw new AppError('INVALID_INPUT', `An externalId with which people sign in has at most ${maxSubjectBytes} bytes.`)
  }
}

/** Two directories can claim one address: the first one keeps it. @throws ALREADY_EXISTS */
async function requireFreeEmail(change: Change, { token }: ScimClient, email: string): Promise<void> {
  const holder = await findEmailHolder(change, email)
  if (!holder) return
  const { kind, name } = holder.directory ?? {}
  const advice =
    kind === undefined || holder.directory?.id === token.directory.id
      ? 'another account: remove that member in Stowage, or give this person another address.'
      : kind === 'LDAP'
        ? 'an account of the LDAP directory: take this person out of one of the two directories.'
        : `an account of the directory "${name}": take this person out of one of the two directories. If this one replaces "${name}", use a new token of "${name}".`
  throw new AppError('ALREADY_EXISTS', `This email address belongs to ${advice}`)
}

function toTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error
  throw new AppError('ALREADY_EXISTS', 'Another user has this userName or externalId.')
}
