/** Tokens with which a directory manages people and groups over SCIM. They belong to the workspace and open nothing else. */
import { hashToken } from '../../../auth/api-key.ts'
import { isId } from '../../../auth/id.ts'
import { requireRecent, requireSession, requireWorkspaceAdmin } from '../../../auth/policy.ts'
import { generateScimToken, isScimToken } from '../../../auth/tokens.ts'
import type { Origin, Viewer } from '../../../auth/viewer.ts'
import type { Change, Database } from '../../../db/client.ts'
import type { AuditAction } from '../../../db/schema.ts'
import {
  deleteUnusedScimDirectories,
  findScimDirectory,
  findScimToken,
  insertScimDirectory,
  insertScimToken,
  listScimDirectories,
  listScimTokens,
  lockScimToken,
  revokeScimToken,
  type ScimDirectory,
  type ScimToken,
  touchScimToken,
} from '../../../db/scim-tokens.ts'
import { lockWorkspace } from '../../../db/workspaces.ts'
import { AppError } from '../../../errors.ts'
import type { Audit, AuditFacts, Recording } from '../../audit/index.ts'
import { parseName } from '../../input.ts'
import type { RequestLimits } from '../../limits/requests.ts'
import type { IssuerRegistry } from '../issuer-registry.ts'

/** The maximum number of tokens that are not revoked. */
export const maxScimTokens = 20
/** The maximum number of directories, also of those whose tokens are all revoked. */
export const maxScimDirectories = 50
/** Characters of a token that are shown. */
const displayLength = 17
/** Milliseconds between two notes that a token is in use. */
const touchInterval = 60_000

/** A SCIM client, whose token was valid when its request began. */
export interface ScimClient {
  token: ScimToken
  origin: Origin
}

export function createScimTokens(options: {
  db: Database
  audit: Audit
  limits: RequestLimits
  /** The issuers of single sign-on. */
  registry: Pick<IssuerRegistry, 'active'>
}) {
  const { db, audit, limits, registry } = options
  return {
    /** Returns the tokens that are not revoked. @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async list(viewer: Viewer | null): Promise<ScimToken[]> {
      return listScimTokens(db, requireWorkspaceAdmin(requireSession(viewer)).member.workspaceId)
    },

    /** Returns the directories, the oldest first. @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async directories(viewer: Viewer | null): Promise<ScimDirectory[]> {
      return listScimDirectories(db, requireWorkspaceAdmin(requireSession(viewer)).member.workspaceId)
    },

    /**
     * Creates a token, whose value cannot be read again. An API key cannot create one, because the token outlives the key.
     * @param input.directoryId the directory that gets another token. By default the token is for a new directory of its name.
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND, INVALID_INPUT
     */
    create(
      viewer: Viewer | null,
      input: { name: string; issuer?: string | null | undefined; directoryId?: string | null | undefined },
    ): Promise<{ token: string; scimToken: ScimToken }> {
      return audit.recorded(viewer, 'SCIM_TOKEN_CREATE', {}, async recording => {
        const { workspaceId, userId } = requireWorkspaceAdmin(requireSession(viewer)).member
        requireRecent(viewer)
        const name = parseName(input.name, 'The name of a token')
        const issuer = input.issuer ?? null
        const directoryId = input.directoryId ?? null
        if (issuer !== null && directoryId !== null) {
          throw new AppError('INVALID_INPUT', 'A directory keeps its issuer: give either the directory or an issuer.')
        }
        const token = generateScimToken()
        const displayPrefix = token.slice(0, displayLength)
        recording.add({ details: { name, displayPrefix } })
        return recording.commit(async change => {
          await lockWorkspace(change, workspaceId)
          if (issuer !== null && !(await registry.active(change)).some(each => each.issuer === issuer)) {
            throw new AppError('INVALID_INPUT', 'The issuer must be one with which people sign in here.')
          }
          const present = await listScimTokens(change, workspaceId)
          if (present.length >= maxScimTokens) {
            throw new AppError('INVALID_INPUT', `A workspace has at most ${maxScimTokens} tokens: revoke one first.`)
          }
          const directory =
            directoryId === null
              ? await createDirectory(change, { workspaceId, name, issuer })
              : await requireDirectory(change, workspaceId, directoryId)
          const values = { workspaceId, directory, name, displayPrefix, hash: hashToken(token), createdBy: userId }
          const scimToken = await insertScimToken(change, values)
          recording.add({
            subject: { kind: 'SCIM_TOKEN', id: scimToken.id },
            details: { directory: directory.name, issuer: directory.issuer },
          })
          return { token, scimToken }
        })
      })
    },

    /** Revokes a token at once. @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND */
    async revoke(viewer: Viewer | null, id: string): Promise<void> {
      const subject = { kind: 'SCIM_TOKEN', id } as const
      await audit.recorded(viewer, 'SCIM_TOKEN_REVOKE', { subject }, async recording => {
        const { workspaceId } = requireWorkspaceAdmin(requireSession(viewer)).member
        await recording.commit(async change => {
          await lockWorkspace(change, workspaceId)
          const revoked = isId(id) ? await revokeScimToken(change, workspaceId, id) : null
          if (!revoked) throw new AppError('NOT_FOUND', 'There is no such token.')
          recording.add({ details: { name: revoked.name, displayPrefix: revoked.displayPrefix } })
          await deleteUnusedScimDirectories(change, workspaceId)
        })
      })
    },

    /** Returns the client with a token, and counts its request. @throws INVALID_CREDENTIAL, RATE_LIMITED */
    async authenticate(text: string | null, origin: Origin): Promise<ScimClient> {
      if (text === null || !isScimToken(text)) {
        limits.countGuess(origin.address)
        throw unknownToken()
      }
      const hash = hashToken(text)
      const key = hash.toString('hex')
      using _trial = await limits.tryKey(key, origin)
      const token = await findScimToken(db, hash)
      if (!token || token.revokedAt) {
        limits.countBad(origin.address)
        throw unknownToken()
      }
      limits.countKey(key)
      const now = Date.now()
      if (!token.lastUsedAt || now - token.lastUsedAt.getTime() > touchInterval) await touchScimToken(db, token.id)
      return { token, origin }
    },
  }
}

export type ScimTokens = ReturnType<typeof createScimTokens>

/** @throws INVALID_INPUT */
async function createDirectory(
  change: Change,
  values: { workspaceId: string; name: string; issuer: string | null },
): Promise<ScimDirectory> {
  const present = await listScimDirectories(change, values.workspaceId)
  if (present.some(({ name }) => name === values.name)) {
    throw new AppError(
      'INVALID_INPUT',
      'A directory has this name: choose another one, or add a token to that directory.',
    )
  }
  if (present.length >= maxScimDirectories) {
    throw new AppError(
      'INVALID_INPUT',
      `A workspace has at most ${maxScimDirectories} directories: remove the members of one.`,
    )
  }
  return insertScimDirectory(change, values)
}

/** @throws NOT_FOUND */
async function requireDirectory(change: Change, workspaceId: string, id: string): Promise<ScimDirectory> {
  const found = isId(id) ? await findScimDirectory(change, workspaceId, id) : null
  if (!found) throw new AppError('NOT_FOUND', 'There is no such directory.')
  return found
}

function unknownToken(): AppError {
  return new AppError('INVALID_CREDENTIAL', 'This requires the token of SCIM, from Settings → Directories.')
}

/**
 * Records a change by a SCIM client. The change fails if the token was revoked meanwhile.
 * @throws INVALID_CREDENTIAL, and what `work` throws
 */
export function recordScim<T>(
  audit: Audit,
  { token, origin }: ScimClient,
  action: AuditAction,
  facts: AuditFacts,
  work: (change: Change, recording: Recording) => Promise<T>,
): Promise<T> {
  const credential = { kind: 'SCIM_TOKEN', id: token.id } as const
  const details = { source: 'scim', directory: token.directory.name, token: token.name, ...facts.details }
  return audit.recorded({ origin }, action, { ...facts, credential, details }, recording =>
    recording.commit(async change => {
      if (!(await lockScimToken(change, token.id))) throw unknownToken()
      await lockWorkspace(change, token.workspaceId)
      return work(change, recording)
    }),
  )
}
