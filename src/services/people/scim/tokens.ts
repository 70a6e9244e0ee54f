/** Tokens with which a directory manages people and groups over SCIM. They belong to the workspace and open nothing else. */
import { hashToken } from '../../../auth/api-key.ts'
import { isId } from '../../../auth/id.ts'
import { requireRecent, requireSession, requireWorkspaceAdmin } from '../../../auth/policy.ts'
import { generateScimToken, isScimToken } from '../../../auth/tokens.ts'
import type { Origin, Viewer } from '../../../auth/viewer.ts'
import type { Change, Database } from '../../../db/client.ts'
import type { AuditAction } from '../../../db/schema.ts'
import {
  findScimToken,
  insertScimToken,
  listScimTokens,
  lockScimToken,
  revokeScimToken,
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

    /**
     * Creates a token, whose value cannot be read again. An API key cannot create one, because the token outlives the key.
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, INVALID_INPUT
     */
    create(
      viewer: Viewer | null,
      input: { name: string; issuer?: string | null | undefined },
    ): Promise<{ token: string; scimToken: ScimToken }> {
      return audit.recorded(viewer, 'SCIM_TOKEN_CREATE', {}, async recording => {
        const { workspaceId, userId } = requireWorkspaceAdmin(requireSession(viewer)).member
        requireRecent(viewer)
        const name = parseName(input.name, 'The name of a token')
        const issuer = input.issuer ?? null
        const token = generateScimToken()
        const displayPrefix = token.slice(0, displayLength)
        recording.add({ details: { name, displayPrefix, issuer } })
        return recording.commit(async change => {
          await lockWorkspace(change, workspaceId)
          if (issuer !== null && !(await registry.active(change)).some(each => each.issuer === issuer)) {
            throw new AppError('INVALID_INPUT', 'The issuer must be one with which people sign in here.')
          }
          const present = await listScimTokens(change, workspaceId)
          if (present.length >= maxScimTokens) {
            throw new AppError('INVALID_INPUT', `A workspace has at most ${maxScimTokens} tokens: revoke one first.`)
          }
          // All tokens manage the same users, so each externalId can be a subject at one issuer only.
          if (present.some(each => each.issuer !== issuer)) {
            throw new AppError(
              'INVALID_INPUT',
              'All tokens are for one directory, and name the same issuer: revoke the others.',
            )
          }
          const values = { workspaceId, name, displayPrefix, issuer, hash: hashToken(token), createdBy: userId }
          const scimToken = await insertScimToken(change, values)
          recording.add({ subject: { kind: 'SCIM_TOKEN', id: scimToken.id } })
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
          const revoked = isId(id) ? await revokeScimToken(change, workspaceId, id) : null
          if (!revoked) throw new AppError('NOT_FOUND', 'There is no such token.')
          recording.add({ details: { name: revoked.name, displayPrefix: revoked.displayPrefix } })
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
  const details = { source: 'scim', token: token.name, ...facts.details }
  return audit.recorded({ origin }, action, { ...facts, credential, details }, recording =>
    recording.commit(async change => {
      if (!(await lockScimToken(change, token.id))) throw unknownToken()
      await lockWorkspace(change, token.workspaceId)
      return work(change, recording)
    }),
  )
}
