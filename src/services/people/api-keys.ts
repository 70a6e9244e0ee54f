import { storeAccess } from '../../auth/access.ts'
import { accessKeyIdOf, describeApiKey, generateApiKey, hashToken, secretAccessKeys } from '../../auth/api-key.ts'
import { isId } from '../../auth/id.ts'
import {
  isUnrestricted,
  requireCovers,
  requireKeyManager,
  requireMayAssign,
  requireRecent,
  requireWithin,
  requireWorkspaceAdmin,
} from '../../auth/policy.ts'
import { highestScope, type Scope, scopes } from '../../auth/scopes.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Member, Viewer } from '../../auth/viewer.ts'
import {
  type ApiKey,
  findApiKey,
  hasHash,
  insertApiKey,
  listApiKeys,
  renameApiKey,
  revokeApiKey,
} from '../../db/api-keys.ts'
import { type Database, isUniqueViolation } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import { parseFuture, parseName, parsePageSize } from '../input.ts'
import { decodeIdCursor, encodeIdCursor } from '../paging.ts'
import { type AccessInput, parseKeyAccess, requireProviders } from './access.ts'
import { fingerprintOf, parsePublicKey } from './ssh-public-keys.ts'

/** The maximum number of active keys per member. */
export const maxActiveKeys = 100
export const maxKeysPage = 100

export type ApiKeyState = 'active' | 'expired' | 'revoked'

export interface CreateApiKey {
  name: string
  scopes: readonly Scope[]
  providerAccess?: AccessInput | null | undefined
  expiresAt?: Date | null | undefined
  /** The service account that gets the key. The default is the viewer. */
  ofUser?: string | null | undefined
  /** A public key of SSH, as a line of an `.pub` file. */
  publicKey?: string | null | undefined
}

/** The credentials of an API key for programs that speak S3. */
export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
}

/** A key with its secrets, which cannot be read again. */
export interface CreatedApiKey {
  apiKey: ApiKey
  /** The full value. */
  key: string
  s3: S3Credentials
}

export function apiKeyState(key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now = new Date()): ApiKeyState {
  if (key.revokedAt) return 'revoked'
  return key.expiresAt && key.expiresAt <= now ? 'expired' : 'active'
}

export function createApiKeys({ db, secrets, audit }: { db: Database; secrets: Secrets; audit: Audit }) {
  /** Finds a key of the viewer, or of a member whom the viewer manages. */
  async function findManaged(viewer: Viewer, id: string): Promise<ApiKey> {
    const key = isId(id) ? await findApiKey(db, viewer.member.workspaceId, id) : null
    const visible = key?.userId === viewer.member.userId || isUnrestricted(viewer)
    if (!key || !visible) throw new AppError('NOT_FOUND', 'There is no such API key.')
    if (key.userId !== viewer.member.userId) await requireManages(viewer, key.userId)
    return key
  }

  async function requireManages(viewer: Viewer, userId: string): Promise<Member> {
    requireWorkspaceAdmin(viewer)
    const member = isId(userId) ? await findMember(db, viewer.member.workspaceId, userId) : null
    if (!member) throw new AppError('NOT_FOUND', 'There is no such member.')
    requireMayAssign(viewer, member)
    return member
  }

  /** Returns the member that a new key belongs to. Nobody gets a key from somebody else, except service accounts. */
  async function keyOwner(creator: Viewer, ofUser: string | null | undefined): Promise<Member> {
    if (ofUser == null || ofUser === creator.member.userId) return creator.member
    const member = await requireManages(creator, ofUser)
    if (member.isService) return member
    throw new AppError(
      'EXCEEDS_OWN_REACH',
      'People create their own keys: only a service account gets them from others.',
    )
  }

  return {
    /**
     * Creates a key of the viewer or of a service account.
     * @param value the value of a key that was made elsewhere
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, INVALID_INPUT, EXCEEDS_OWN_REACH, NOT_FOUND, TOO_MANY_KEYS,
     * ALREADY_EXISTS for a known value or public key
     */
    create(viewer: Viewer | null, input: CreateApiKey, value?: string): Promise<CreatedApiKey> {
      return audit.recorded(viewer, 'API_KEY_CREATE', {}, async recording => {
        const creator = requireKeyManager(viewer)
        requireRecent(creator)
        const name = parseName(input.name, 'The name of a key')
        const given = scopes.filter(scope => input.scopes.includes(scope))
        if (given.length === 0)
          throw new AppError('INVALID_INPUT', 'A key has at least one scope: read, write or admin.')
        const access = parseKeyAccess(input.providerAccess)
        const expiresAt = input.expiresAt ? parseFuture(input.expiresAt, 'The expiry of a key') : null
        const owner = await keyOwner(creator, input.ofUser)
        const isOwn = owner === creator.member
        // "All providers" means all providers of the owner, so it never exceeds the owner's access.
        const rights = { scope: highestScope(given), access: access.all ? (isOwn ? creator : owner).access : access }
        requireCovers(creator, rights)
        if (!isOwn) requireWithin(owner, rights)
        requireEarlierExpiry(creator, expiresAt)
        await requireProviders(db, creator.member.workspaceId, access)
        const publicKey = input.publicKey == null ? null : await parsePublicKey(input.publicKey)
        const { key, keyHash, displayPrefix } = value === undefined ? generateApiKey() : describeApiKey(value)
        const { userId, workspaceId } = owner
        const rightsOfKey = { scopes: given, access, expiresAt }
        const values = { workspaceId, userId, name, hash: keyHash, displayPrefix, publicKey, ...rightsOfKey }
        const providerAccess = storeAccess(access)
        const sshFingerprint = publicKey && fingerprintOf(publicKey)
        const details = { name, displayPrefix, ownerId: userId, scopes: given, providerAccess, expiresAt }
        recording.add({ details: { ...details, ...(sshFingerprint && { sshFingerprint }) } })
        return recording.commit(async change => {
          const apiKey = await insertApiKey(change, values, maxActiveKeys).catch(error => {
            if (!isUniqueViolation(error)) throw error
            throw new AppError(
              'ALREADY_EXISTS',
              isUniqueViolation(error, 'api_keys_public_key')
                ? 'An API key of this account has this public key already: revoke that one first, or use another public key.'
                : 'This key exists already, and may be revoked: use another value.',
            )
          })
          if (!apiKey) throw tooManyKeys()
          recording.add({ subject: { kind: 'API_KEY', id: apiKey.id } })
          const [secretAccessKey] = secretAccessKeys(secrets, { id: apiKey.id, hash: keyHash })
          return { apiKey, key, s3: { accessKeyId: accessKeyIdOf(apiKey.id), secretAccessKey } }
        })
      })
    },

    /**
     * Returns keys of the viewer, or of a member whom the viewer manages, newest first.
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, NOT_FOUND, INVALID_INPUT, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      query: { ofUser?: string | null | undefined; includeInactive: boolean; connections: boolean | null },
      page: { first: number; after?: string | null | undefined },
    ): Promise<{ items: { key: ApiKey; cursor: string }[]; hasNext: boolean }> {
      const manager = requireKeyManager(viewer)
      const { workspaceId } = manager.member
      const userId = query.ofUser ?? manager.member.userId
      if (userId !== manager.member.userId) await requireManages(manager, userId)
      const limit = parsePageSize(page.first, maxKeysPage)
      const after = page.after == null ? null : decodeIdCursor(page.after)
      const { includeInactive, connections } = query
      const filter = { limit: limit + 1, after, includeInactive, connections }
      const found = await listApiKeys(db, { workspaceId, userId }, filter)
      const items = found.slice(0, limit).map(key => ({ key, cursor: encodeIdCursor(key.id) }))
      return { items, hasNext: found.length > limit }
    },

    async get(viewer: Viewer | null, id: string): Promise<ApiKey> {
      return findManaged(requireKeyManager(viewer), id)
    },

    rename(viewer: Viewer | null, id: string, name: string): Promise<ApiKey> {
      return audit.recorded(viewer, 'API_KEY_RENAME', { subject: { kind: 'API_KEY', id } }, async recording => {
        const manager = requireKeyManager(viewer)
        const parsed = parseName(name, 'The name of a key')
        const key = await findManaged(manager, id)
        recording.add({ details: { ...describeKey(key), newName: parsed } })
        return recording.commit(change => renameApiKey(change, key.id, parsed))
      })
    },

    /** Revokes a key immediately and permanently. */
    revoke(viewer: Viewer | null, id: string): Promise<ApiKey> {
      return audit.recorded(viewer, 'API_KEY_REVOKE', { subject: { kind: 'API_KEY', id } }, async recording => {
        const key = await findManaged(requireKeyManager(viewer), id)
        recording.add({ details: describeKey(key) })
        return recording.commit(change => revokeApiKey(change, key.id))
      })
    },

    /** Returns whether a key has this value. */
    hasValue({ id }: ApiKey, value: string): Promise<boolean> {
      return hasHash(db, id, hashToken(value))
    },

    /** Returns the API key of the request, if it came with one. */
    async own(viewer: Viewer): Promise<ApiKey | null> {
      return viewer.kind === 'API_KEY' ? findApiKey(db, viewer.member.workspaceId, viewer.credentialId) : null
    },
  }
}

function tooManyKeys(): AppError {
  const message = `You have ${maxActiveKeys} active API keys, which is the limit: revoke one that is not used any more.`
  return new AppError('TOO_MANY_KEYS', message)
}

/** Describes a key for the audit log. */
function describeKey({ name, displayPrefix, userId }: ApiKey) {
  return { name, displayPrefix, ownerId: userId }
}

/** Checks that nothing made with a key outlives the key. Objects that a session makes may outlive the session. */
export function requireEarlierExpiry(creator: Viewer, expiresAt: Date | null): void {
  if (creator.kind !== 'API_KEY' || !creator.expiresAt) return
  if (!expiresAt || expiresAt > creator.expiresAt) {
    throw new AppError(
      'EXCEEDS_OWN_REACH',
      `Nothing made with this key can outlive it: give an expiresAt up to ${creator.expiresAt.toISOString()}.`,
    )
  }
}
