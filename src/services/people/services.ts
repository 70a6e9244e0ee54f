/** Makes the services about people. */

import type { Network } from '../../../adapters/contract.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import type { Redactor } from '../../storage/tokens.ts'
import type { Audit } from '../audit/index.ts'
import { createNotify } from '../mail/notices.ts'
import { createAccounts } from './accounts.ts'
import { createApiKeys } from './api-keys.ts'
import type { Authentication } from './authentication.ts'
import { createConfirmation } from './confirmation.ts'
import { createDirectories } from './directories.ts'
import { createEnrolment } from './enrolment.ts'
import { createFactorChecks } from './factor-checks.ts'
import { createGroups } from './groups.ts'
import { createInvites } from './invites.ts'
import { createIssuerLogout } from './issuer-logout.ts'
import { createIssuerRegistry } from './issuer-registry.ts'
import { createIssuerTests } from './issuer-tests.ts'
import { createIssuers } from './issuers.ts'
import { createDirectory, type DirectorySettings } from './ldap/directory.ts'
import { createDirectorySignIn } from './ldap/sign-in.ts'
import { startDirectorySync } from './ldap/sync.ts'
import { createLinkInvites } from './link-invites.ts'
import { createLinkedIdentities } from './linked-identities.ts'
import { createMembers } from './members.ts'
import type { IssuerSettings } from './oidc-issuer.ts'
import { createPasswordResets } from './password-resets.ts'
import { createRegistration } from './registration.ts'
import { createScimGroups } from './scim/groups.ts'
import { createScimTokens } from './scim/tokens.ts'
import { createScimUsers } from './scim/users.ts'
import { createSecondSteps } from './second-steps.ts'
import { createServiceAccounts } from './service-accounts.ts'
import { createSingleSignOn } from './single-sign-on.ts'
import { createWorkspaces } from './workspaces.ts'

export function createPeople(options: {
  db: Database
  secrets: Secrets
  authentication: Authentication
  audit: Audit
  network: Network
  redaction: Redactor
  /** Speaks to issuers. Checks the address of each connection. */
  fetch: typeof globalThis.fetch
  setupCode: string | null
  oidc: IssuerSettings | null
  ldap: (DirectorySettings & { syncMinutes: number }) | null
  sendsEmail: boolean
  sendsResets: boolean
  /** Whether this server reads the directory at an interval. */
  isWorking: boolean
  onError: (error: unknown) => void
  onResetLoss: () => void
}) {
  const { db, secrets, audit, redaction, setupCode, oidc, ldap, onError } = options
  const { credentials, limits, tokens } = options.authentication
  const registry = createIssuerRegistry({ db, secrets, redaction, fetch: options.fetch, oidc })
  const directory = ldap && createDirectory(ldap, options.network)
  const directorySources = directory ? [directory.source] : []
  const identitySources = oidc ? [oidc.issuer, ...directorySources] : directorySources
  const groupSources = oidc?.groupsClaim == null ? directorySources : identitySources
  const checks = createFactorChecks({ db, secrets, limits: limits.signIns })
  const secondSteps = createSecondSteps({ db, tokens, limits: limits.signIns, audit, checks })
  const directorySignIn =
    directory &&
    createDirectorySignIn({
      db,
      tokens,
      limits: limits.signIns,
      audit,
      directory,
      requireNoSecondFactor: secondSteps.requireNone,
    })
  const stopSync =
    ldap && directory && ldap.syncMinutes > 0 && options.isWorking
      ? startDirectorySync({ db, audit, directory, minutes: ldap.syncMinutes, onError })
      : async () => {}
  const notify = createNotify(options.sendsEmail)

  const services = {
    accounts: createAccounts({
      db,
      tokens,
      limits: limits.signIns,
      audit,
      directory: directorySignIn,
      hasSecondFactor: secondSteps.isEnrolled,
      requireNoSecondFactor: secondSteps.requireNone,
      notify,
    }),
    secondSteps,
    enrolment: createEnrolment({ db, secrets, audit, checks, notify }),
    confirmation: createConfirmation({ db, limits: limits.signIns, audit, checks, registry }),
    /** The LDAP directory; null for none. */
    directory,
    registration: createRegistration({ db, tokens, limits: limits.signIns, audit, setupCode }),
    apiKeys: createApiKeys({ db, secrets, audit }),
    members: createMembers({ db, audit, sources: identitySources }),
    groups: createGroups({ db, audit, sources: groupSources }),
    serviceAccounts: createServiceAccounts({ audit }),
    singleSignOn: createSingleSignOn({
      db,
      secrets,
      tokens,
      limits: limits.signIns,
      audit,
      registry,
      tests: createIssuerTests({ db, secrets, redaction, audit, credentials, registry }),
    }),
    identities: createLinkedIdentities({ db, secrets, audit, registry, notify }),
    linkInvites: createLinkInvites({ db, secrets, audit, registry, notify }),
    directories: createDirectories({ db, ldapSource: directory?.source ?? null, sources: groupSources }),
    scim: {
      tokens: createScimTokens({ db, audit, limits: limits.requests, registry }),
      users: createScimUsers({ db, audit }),
      groups: createScimGroups({ db, audit }),
    },
    issuers: createIssuers({ db, secrets, audit, registry, directorySource: directory?.source ?? null }),
    issuerLogout: createIssuerLogout({ db, secrets, audit, limits: limits.signIns, registry }),
    invites: createInvites({ db, audit }),
    passwordResets: createPasswordResets({
      db,
      audit,
      limits: limits.signIns,
      directory: directorySignIn,
      notify,
      sendsLinks: options.sendsResets,
      onLoss: options.onResetLoss,
    }),
    workspaces: createWorkspaces({ db, audit, registry, setupCode }),
  }
  /** Ends the readings of the directory. */
  return { services, stop: stopSync }
}
