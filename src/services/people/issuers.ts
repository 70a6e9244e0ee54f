/** The OpenID Connect issuers of a workspace, which its owners add, change and remove. */
import { randomUUID } from 'node:crypto'
import { isId } from '../../auth/id.ts'
import { requireMayAssign, requireSignInOwner, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { MemberGroup, Viewer } from '../../auth/viewer.ts'
import { type Change, type Database, isUniqueViolation } from '../../db/client.ts'
import { findGroups, groupKey } from '../../db/groups.ts'
import {
  deleteIssuer,
  findIssuer,
  type IssuerChanges,
  type IssuerRecord,
  insertIssuer,
  listIssuers,
  updateIssuer,
} from '../../db/issuers.ts'
import { batched } from '../../db/lookups.ts'
import { hasOwnerWithWayIn } from '../../db/members.ts'
import type { IssuerPrompt } from '../../db/schema.ts'
import { revokeIssuedSessions } from '../../db/sessions.ts'
import { findWorkspace, lockWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import { isLoopback } from '../../lib/loopback.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { parseName } from '../input.ts'
import { parseDomain } from './issued-accounts.ts'
import { callbackPath, callbackPathOf, type IssuerRegistry, settingsIssuerId } from './issuer-registry.ts'
import type { IssuerSettings } from './oidc-issuer.ts'

/** The maximum number of issuers of a workspace, beside the one of the settings. */
export const maxIssuers = 20
/** The maximum numbers of domains and of groups in a rule. */
export const maxDomains = 20
export const maxRuleGroups = 20
/** Minutes: a year. */
export const maxMaxAge = 365 * 24 * 60
/** Characters. */
const maxIssuerUrl = 500
const maxClientId = 255
const maxClientSecret = 1000
const maxClaim = 200

export interface IssuerInput {
  name: string
  issuer: string
  clientId: string
  clientSecret: string
  /** Null or empty if groups do not follow the issuer. */
  groupsClaim?: string | null | undefined
  domains?: readonly string[] | null | undefined
  groupIds?: readonly string[] | null | undefined
  prompt?: IssuerPrompt | null | undefined
  maxAgeMinutes?: number | null | undefined
  enabled?: boolean | null | undefined
}

/** Omitted and null values do not change. */
export type IssuerUpdate = { id: string } & {
  [Key in Exclude<keyof IssuerInput, 'issuer'>]?: IssuerInput[Key] | null | undefined
}

/** An issuer as administrators see it, without its secret. */
export interface ConfiguredIssuer {
  id: string
  name: string
  issuer: string
  clientId: string
  groupsClaim: string | null
  domains: readonly string[]
  groupIds: readonly string[]
  prompt: IssuerPrompt
  maxAgeMinutes: number
  isEnabled: boolean
  /** The path of its redirect URI. */
  callbackPath: string
  /** The operator has set it, so administrators cannot change it. */
  isFromSettings: boolean
  /** The operator has set the same issuer, which replaces this one. */
  isReplaced: boolean
  /** Null for the one of the settings. */
  createdAt: Date | null
}

export type Issuers = ReturnType<typeof createIssuers>

export function createIssuers({
  db,
  secrets,
  audit,
  registry,
  directorySource,
}: {
  db: Database
  secrets: Secrets
  audit: Audit
  registry: IssuerRegistry
  /** The name of the LDAP directory in identities; null for none. */
  directorySource: string | null
}) {
  const { oidc } = registry

  /** Finds groups by `<workspace id>/<group id>`, those of several issuers in one query. */
  const groupOf = batched(async (keys: readonly string[]) => {
    const found = new Map<string, MemberGroup>()
    for (const [workspaceId, some] of Map.groupBy(keys, key => key.slice(0, key.indexOf('/')))) {
      const ids = some.map(key => key.slice(workspaceId.length + 1))
      for (const group of await findGroups(db, workspaceId, ids)) found.set(`${workspaceId}/${group.id}`, group)
    }
    return found
  })

  /** @throws as `requireSignInOwner`, NOT_FOUND */
  function change<T>(
    viewer: Viewer | null,
    id: string,
    recording: Recording,
    work: (change: Change, admin: Viewer, record: IssuerRecord) => Promise<T>,
  ): Promise<T> {
    const admin = requireSignInOwner(viewer)
    const { workspaceId } = admin.member
    if (id === settingsIssuerId && oidc) throw new AppError('INVALID_INPUT', isSetByOperator)
    return recording.commit(async trx => {
      await lockWorkspace(trx, workspaceId)
      const record = isId(id) ? await findIssuer(trx, workspaceId, id) : null
      if (!record) throw new AppError('NOT_FOUND', 'There is no such issuer.')
      recording.add({ details: { name: record.name, issuer: record.issuer } })
      return work(trx, admin, record)
    })
  }

  /** Requires, after an issuer has ended, that people can still sign in. @throws LAST_OWNER */
  async function requireWaysIn(trx: Change, workspaceId: string): Promise<void> {
    const usable = (await registry.active(trx)).map(({ issuer }) => issuer)
    const workspace = await findWorkspace(trx, workspaceId)
    if (usable.length === 0 && workspace && workspace.passwordOwners !== null) {
      throw new AppError('LAST_OWNER', 'People need single sign-on here: let everybody use passwords first.')
    }
    const sources = directorySource === null ? usable : [...usable, directorySource]
    if (await hasOwnerWithWayIn(trx, workspaceId, sources)) return
    throw new AppError('LAST_OWNER', 'No owner could sign in any more: an owner needs a password or another issuer.')
  }

  /** @throws NOT_FOUND, EXCEEDS_OWN_REACH */
  async function requireGroups(trx: Change, admin: Viewer, groupIds: readonly string[]): Promise<void> {
    const groups = await findGroups(trx, admin.member.workspaceId, groupIds)
    if (groups.length < groupIds.length) throw new AppError('NOT_FOUND', 'There is no such group.')
    for (const group of groups) requireMayAssign(admin, group)
  }

  return {
    /**
     * Returns the issuers, that of the settings first.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED
     */
    async list(viewer: Viewer | null): Promise<ConfiguredIssuer[]> {
      const { workspaceId } = requireWorkspaceAdmin(viewer).member
      const records = await listIssuers(db, workspaceId)
      return [...(oidc ? [ofSettings(oidc)] : []), ...records.map(record => toConfigured(record, oidc))]
    },

    /** Returns the groups that new accounts of an issuer join. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async groupsOf(viewer: Viewer | null, { groupIds }: ConfiguredIssuer): Promise<MemberGroup[]> {
      const { workspaceId } = requireWorkspaceAdmin(viewer).member
      const found = await Promise.all(groupIds.map(id => groupOf(`${workspaceId}/${id}`)))
      const groups = found.filter(group => group !== null)
      return groups.toSorted((a, b) => (groupKey(a.name) < groupKey(b.name) ? -1 : 1))
    },

    /**
     * Adds an issuer, without connecting to it.
     * @throws as `requireSignInOwner`, INVALID_INPUT, NOT_FOUND, ALREADY_EXISTS, TOO_MANY_ISSUERS
     */
    create(viewer: Viewer | null, input: IssuerInput): Promise<ConfiguredIssuer> {
      return audit.recorded(viewer, 'ISSUER_CREATE', {}, async recording => {
        const admin = requireSignInOwner(viewer)
        const { workspaceId } = admin.member
        const id = randomUUID()
        const { issuer, clientSecret, ...values } = { ...parseIssuer(input), isEnabled: input.enabled ?? true }
        const secret = secrets.seal('issuer', id, clientSecret)
        recording.add({ subject: { kind: 'ISSUER', id }, details: { issuer, ...values } })
        if (issuer === oidc?.issuer) throw new AppError('ALREADY_EXISTS', isSetByOperator)
        return recording.commit(async trx => {
          await lockWorkspace(trx, workspaceId)
          await requireGroups(trx, admin, values.groupIds)
          if ((await listIssuers(trx, workspaceId)).length >= maxIssuers) {
            throw new AppError('TOO_MANY_ISSUERS', `A workspace has at most ${maxIssuers} issuers: remove one first.`)
          }
          const record = await insertIssuer(trx, { id, workspaceId, issuer, secret, ...values }).catch(toTaken)
          return toConfigured(record, oidc)
        })
      })
    },

    /**
     * Changes an issuer. Disabling it ends the sessions that began with it, and keeps its identities. Its address cannot be changed,
     * because another issuer has other accounts.
     * @throws as `requireSignInOwner`, INVALID_INPUT, NOT_FOUND, ALREADY_EXISTS, LAST_OWNER
     */
    update(viewer: Viewer | null, { id, ...input }: IssuerUpdate): Promise<ConfiguredIssuer> {
      const subject = { kind: 'ISSUER', id } as const
      return audit.recorded(viewer, 'ISSUER_UPDATE', { subject }, async recording => {
        const { name, clientId, clientSecret, groupsClaim, domains, groupIds, prompt, maxAgeMinutes, enabled } = input
        const secret = clientSecret == null ? null : parseText(clientSecret, 'The client secret', maxClientSecret)
        const changes: IssuerChanges = {
          ...(name != null && { name: parseName(name, 'The name of an issuer') }),
          ...(clientId != null && { clientId: parseText(clientId, 'The client ID', maxClientId) }),
          ...(groupsClaim != null && { groupsClaim: parseClaim(groupsClaim) }),
          ...(domains != null && { domains: parseDomains(domains) }),
          ...(groupIds != null && { groupIds: parseGroupIds(groupIds) }),
          ...(prompt != null && { prompt }),
          ...(maxAgeMinutes != null && { maxAgeMinutes: parseMaxAge(maxAgeMinutes) }),
          ...(enabled != null && { isEnabled: enabled }),
        }
        if (secret === null && Object.keys(changes).length === 0) {
          throw new AppError('INVALID_INPUT', 'Give at least one change.')
        }
        return change(viewer, id, recording, async (trx, admin, record) => {
          recording.add({ details: { changes: { ...changes, ...(secret !== null && { clientSecret: 'changed' }) } } })
          if (changes.groupIds) await requireGroups(trx, admin, changes.groupIds)
          const { issuer } = record
          if (enabled === false && issuer !== oidc?.issuer)
            await revokeIssuedSessions(trx, { issuer, subject: null, issuerSession: null })
          const sealed = secret === null ? {} : { secret: secrets.seal('issuer', record.id, secret) }
          const updated = await updateIssuer(trx, record.id, { ...changes, ...sealed }).catch(toTaken)
          if (enabled === false) await requireWaysIn(trx, record.workspaceId)
          return toConfigured(updated, oidc)
        })
      })
    },

    /**
     * Removes an issuer with its identities and the memberships of groups that it has named, and ends the sessions that began with it.
     * Accounts stay.
     * @throws as `requireSignInOwner`, INVALID_INPUT, NOT_FOUND, LAST_OWNER
     */
    async delete(viewer: Viewer | null, id: string): Promise<void> {
      const subject = { kind: 'ISSUER', id } as const
      await audit.recorded(viewer, 'ISSUER_DELETE', { subject }, recording =>
        change(viewer, id, recording, async (trx, _admin, record) => {
          await deleteIssuer(trx, record, record.issuer !== oidc?.issuer)
          await requireWaysIn(trx, record.workspaceId)
        }),
      )
    },

    /** Returns whether an issuer has this secret, and it can be decrypted. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async hasSecret(viewer: Viewer | null, id: string, secret: string): Promise<boolean> {
      const { workspaceId } = requireWorkspaceAdmin(viewer).member
      const record = await findIssuer(db, workspaceId, id)
      if (!record) return false
      try {
        return registry.secretOf(record) === secret
      } catch (error) {
        // The holder of the secret can store it again.
        if (error instanceof AppError && error.reason === 'UNAVAILABLE') return false
        throw error
      }
    },
  }
}

const isSetByOperator = 'The operator has set this issuer with STOWAGE_OIDC_ISSUER: change it there.'

function ofSettings(settings: IssuerSettings): ConfiguredIssuer {
  const { issuer, clientId, groupsClaim, prompt = 'DEFAULT', maxAgeMinutes = 0 } = settings
  return {
    id: settingsIssuerId,
    name: new URL(issuer).host,
    issuer,
    clientId,
    groupsClaim,
    domains: [],
    groupIds: [],
    prompt,
    maxAgeMinutes,
    isEnabled: true,
    callbackPath,
    isFromSettings: true,
    isReplaced: false,
    createdAt: null,
  }
}

function toConfigured(
  { secret: _secret, workspaceId: _workspace, version: _version, ...record }: IssuerRecord,
  oidc: IssuerSettings | null,
) {
  return {
    ...record,
    isFromSettings: false,
    isReplaced: record.issuer === oidc?.issuer,
    callbackPath: callbackPathOf(record.id, record.issuer),
  } satisfies ConfiguredIssuer
}

function toTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error
  throw new AppError('ALREADY_EXISTS', 'An issuer with this name or this address exists.')
}

/** @throws INVALID_INPUT, NOT_FOUND */
export function parseIssuer(input: IssuerInput) {
  return {
    name: parseName(input.name, 'The name of an issuer'),
    issuer: parseIssuerUrl(input.issuer),
    clientId: parseText(input.clientId, 'The client ID', maxClientId),
    clientSecret: parseText(input.clientSecret, 'The client secret', maxClientSecret),
    groupsClaim: parseClaim(input.groupsClaim ?? ''),
    domains: parseDomains(input.domains ?? []),
    groupIds: parseGroupIds(input.groupIds ?? []),
    prompt: input.prompt ?? 'DEFAULT',
    maxAgeMinutes: parseMaxAge(input.maxAgeMinutes ?? 0),
  }
}

/** The address of an issuer, whose characters count: OpenID Connect Core, section 2. @throws INVALID_INPUT */
function parseIssuerUrl(text: string): string {
  const url = text.length <= maxIssuerUrl && /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  const isBare = url && !/[?#@]/.test(text) && !text.includes('/.well-known/')
  if (!isSafe || !isBare) {
    const message = `The address of an issuer begins with "https://", and has at most ${maxIssuerUrl} characters and none of "?", "#", "@" and "/.well-known/".`
    throw new AppError('INVALID_INPUT', message)
  }
  return text
}

/** @throws INVALID_INPUT */
function parseText(text: string, what: string, most: number): string {
  if (text.length > most || !/^[\x20-\x7e]+$/.test(text)) {
    throw new AppError('INVALID_INPUT', `${what} has 1 to ${most} characters of ASCII.`)
  }
  return text
}

/** @throws INVALID_INPUT */
function parseMaxAge(minutes: number): number {
  if (Number.isInteger(minutes) && minutes >= 0 && minutes <= maxMaxAge) return minutes
  throw new AppError('INVALID_INPUT', `An issuer asks again after 1 to ${maxMaxAge} minutes, or never with 0.`)
}

/** @throws INVALID_INPUT */
function parseClaim(text: string): string | null {
  return text === '' ? null : parseText(text, 'The name of a claim', maxClaim)
}

/** @throws INVALID_INPUT */
function parseDomains(texts: readonly string[]): string[] {
  if (texts.length > maxDomains) throw new AppError('INVALID_INPUT', `An issuer has at most ${maxDomains} domains.`)
  return [...new Set(texts.map(parseDomain))]
}

/** @throws INVALID_INPUT, NOT_FOUND */
function parseGroupIds(ids: readonly string[]): string[] {
  if (ids.length > maxRuleGroups) throw new AppError('INVALID_INPUT', `An issuer has at most ${maxRuleGroups} groups.`)
  if (!ids.every(isId)) throw new AppError('NOT_FOUND', 'There is no such group.')
  return [...new Set(ids)]
}
