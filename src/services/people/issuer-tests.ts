/** Test sign-ins: they show what an issuer says about a person, and what a sign-in would do. They change nothing. */
import { randomUUID } from 'node:crypto'
import { isId } from '../../auth/id.ts'
import { requireSession, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findGroups, findGroupsNamed } from '../../db/groups.ts'
import { findIdentity } from '../../db/identities.ts'
import { deleteIssuerTestsBefore, findIssuerTest, putIssuerTest } from '../../db/issuer-tests.ts'
import { findIssuer } from '../../db/issuers.ts'
import { findMember } from '../../db/members.ts'
import { isEmailTaken } from '../../db/users.ts'
import { findTheWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Redactor } from '../../storage/tokens.ts'
import type { Audit } from '../audit/index.ts'
import type { Credentials } from './credentials.ts'
import { admissionOf, takenMessage } from './issued-accounts.ts'
import { type AdmissionRule, callbackPathOf, type IssuerRegistry, settingsIssuerId } from './issuer-registry.ts'
import { type IssuerInput, parseIssuer } from './issuers.ts'
import type { IssuedIdentity } from './oidc-claims.ts'
import { explain } from './oidc-errors.ts'
import type { Issuer, IssuerSettings } from './oidc-issuer.ts'

/** Milliseconds from the beginning of a test until the person is at the issuer, and again until they are back. */
export const testLifetime = 10 * 60 * 1000

/** Settings that need not be stored. With an id, those of a stored issuer are the defaults, and its address is fixed. */
export interface IssuerTestInput extends Partial<{ [Key in keyof IssuerInput]: IssuerInput[Key] | null | undefined }> {
  id?: string | null | undefined
}

/** The state of a test, which is stored encrypted. */
interface IssuerTest {
  /** Tells the tests of one credential apart. */
  nonce: string
  /** The id of a stored issuer; null for settings that are not stored. */
  id: string | null
  settings: IssuerSettings
  rule: AdmissionRule
}

/** Names a test in the browser. */
export interface TestTicket {
  credentialId: string
  nonce: string
  /** Milliseconds since 1970. */
  expiresAt: number
}

export interface IssuerTestOutcome {
  issued: IssuedIdentity
  /** The email of the account with which the identity is linked; null for none. */
  linkedTo: string | null
  /** Why a sign-in without a link would create an account; null if it would not. */
  admission: 'GROUP' | 'DOMAIN' | null
  /** Why it would be refused; null if it would not. */
  refusal: string | null
  /** The names of the groups that the person would be in, according to the issuer and the rule. */
  groups: string[]
}

export function createIssuerTests({
  db,
  secrets,
  redaction,
  audit,
  credentials,
  registry,
}: {
  db: Database
  secrets: Secrets
  redaction: Redactor
  audit: Audit
  credentials: Pick<Credentials, 'authenticateSession' | 'recall'>
  registry: IssuerRegistry
}) {
  /** @throws NOT_FOUND, INVALID_INPUT, UNAVAILABLE */
  async function settingsOf(workspaceId: string, input: IssuerTestInput): Promise<Omit<IssuerTest, 'nonce'>> {
    const { oidc } = registry
    if (input.id === settingsIssuerId && oidc)
      return { id: settingsIssuerId, settings: oidc, rule: { domains: [], groupIds: [] } }
    const record = input.id != null && isId(input.id) ? await findIssuer(db, workspaceId, input.id) : null
    if (input.id != null && !record) throw new AppError('NOT_FOUND', 'There is no such issuer.')
    const given = parseIssuer({
      name: input.name ?? record?.name ?? 'Test',
      // A stored secret is sent to its own issuer only.
      issuer: record?.issuer ?? input.issuer ?? '',
      clientId: input.clientId ?? record?.clientId ?? '',
      clientSecret: input.clientSecret ?? (record ? registry.secretOf(record) : ''),
      groupsClaim: input.groupsClaim ?? record?.groupsClaim,
      domains: input.domains ?? record?.domains,
      groupIds: input.groupIds ?? record?.groupIds,
      prompt: input.prompt ?? record?.prompt,
      maxAgeMinutes: input.maxAgeMinutes ?? record?.maxAgeMinutes,
    })
    const { name: _name, domains, groupIds, ...settings } = given
    return { id: record?.id ?? null, settings, rule: { domains, groupIds } }
  }

  /** @throws INVALID_STATE */
  async function find({ credentialId, nonce }: TestTicket): Promise<IssuerTest> {
    const sealed = await findIssuerTest(db, credentialId)
    const test = sealed && (JSON.parse(secrets.open('issuer-test', credentialId, sealed)) as IssuerTest)
    if (test?.nonce === nonce) return test
    throw new AppError('INVALID_STATE', 'This test has expired, or a later one has begun: begin again.')
  }

  return {
    /**
     * Begins a test, and ends an earlier one of the same session.
     * @throws SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND, INVALID_INPUT, UNAVAILABLE
     */
    start(viewer: Viewer | null, input: IssuerTestInput): Promise<TestTicket> {
      return audit.recorded(viewer, 'ISSUER_TEST', {}, async recording => {
        const { member, credentialId } = requireWorkspaceAdmin(requireSession(viewer))
        const { workspaceId } = member
        const test = { nonce: randomUUID(), ...(await settingsOf(workspaceId, input)) }
        const { issuer, clientId } = test.settings
        recording.add({ details: { issuer, clientId } })
        const sealed = secrets.seal('issuer-test', credentialId, JSON.stringify(test))
        const expiresAt = Date.now() + testLifetime
        const until = new Date(expiresAt + testLifetime)
        await recording.commit(change => putIssuerTest(change, { credentialId, workspaceId, sealed, expiresAt: until }))
        return { credentialId, nonce: test.nonce, expiresAt }
      })
    },

    /** Requires that the browser has the session that asked for a test. @throws INVALID_STATE, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async requireSessionOf({ credentialId }: TestTicket, token: string | null, origin: Origin): Promise<void> {
      const viewer = token === null ? null : await credentials.authenticateSession(token, origin)
      if (viewer?.credentialId !== credentialId) throw new AppError('INVALID_STATE', isElsewhere)
      requireWorkspaceAdmin(viewer)
    },

    /** Requires that the session is still one of an administrator. @throws SESSION_ENDED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async requireAdminOf({ credentialId }: TestTicket, origin: Origin): Promise<void> {
      // A browser that comes from another site does not send the cookie of the session, which is strict.
      requireWorkspaceAdmin(await credentials.recall({ kind: 'SESSION', credentialId, origin }))
    },

    /** @throws INVALID_STATE */
    async callbackPathOf(ticket: TestTicket): Promise<string> {
      const { id, settings } = await find(ticket)
      return callbackPathOf(id, settings.issuer)
    },

    /**
     * Runs `work` with a connection to the issuer of a test, and explains its errors.
     * @throws INVALID_STATE, SIGN_IN_REFUSED, UNAVAILABLE
     */
    async connect<T>(ticket: TestTicket, work: (issuer: Issuer) => Promise<T>): Promise<T> {
      const { settings } = await find(ticket)
      using _hold = redaction.hold(settings.clientSecret)
      try {
        return await work(registry.connect(settings))
      } catch (error) {
        const reason = error instanceof AppError ? error.reason : 'UNAVAILABLE'
        throw new AppError(reason, explain(error), { cause: error })
      }
    },

    /** Returns what a sign-in of a person would do. @throws INVALID_STATE */
    async outcomeOf(ticket: TestTicket, issued: IssuedIdentity): Promise<IssuerTestOutcome> {
      const { rule } = await find(ticket)
      const workspace = await findTheWorkspace(db)
      const identity = await findIdentity(db, issued.issuer, issued.subject)
      const member = identity && (await findMember(db, identity.workspaceId, identity.userId))
      const named = workspace ? await findGroupsNamed(db, workspace.id, issued.groups ?? []) : []
      const namesOf = (groups: readonly { name: string }[]) => groups.map(({ name }) => name)
      if (member) {
        return { issued, linkedTo: member.email, admission: null, refusal: null, groups: namesOf(named) }
      }
      try {
        const admission = await admissionOf(db, workspace, issued, rule, false)
        if (await isEmailTaken(db, issued.email ?? '')) throw new AppError('NOT_LINKED', takenMessage(workspace))
        const joined = admission === 'DOMAIN' && workspace ? await findGroups(db, workspace.id, rule.groupIds) : []
        const groups = [...new Set([...namesOf(named), ...namesOf(joined)])]
        return { issued, linkedTo: null, admission: admission === 'INVITE' ? null : admission, refusal: null, groups }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { issued, linkedTo: null, admission: null, refusal: error.message, groups: [] }
      }
    },

    /** Forgets tests that have expired. Call it once a day. */
    async sweep(): Promise<void> {
      await deleteIssuerTestsBefore(db, new Date())
    },
  }
}

const isElsewhere = 'This test belongs to another session: begin it in the console of this browser.'

export type IssuerTests = ReturnType<typeof createIssuerTests>
