/** Sign-ins with the password that somebody has in the directory. */
import { allProviders } from '../../../auth/access.ts'
import { networkOf } from '../../../auth/network.ts'
import type { SessionTokens } from '../../../auth/tokens.ts'
import type { Origin } from '../../../auth/viewer.ts'
import type { Database } from '../../../db/client.ts'
import { findEmailHolder, findIssuedMembers, hasIdentityOf, type IssuedMember } from '../../../db/directories.ts'
import { touchIdentity } from '../../../db/identities.ts'
import { findMember, reactivateMember } from '../../../db/members.ts'
import { findTheWorkspace } from '../../../db/workspaces.ts'
import { AppError } from '../../../errors.ts'
import { Slots } from '../../../lib/slots.ts'
import type { Audit } from '../../audit/index.ts'
import type { SignIns } from '../../limits/sign-ins.ts'
import { type DirectorySignIn, type RequireNoSecondFactor, startSession } from '../accounts.ts'
import { followIssuedGroups, insertIssuedAccount } from '../issued-accounts.ts'
import type { Directory } from './directory.ts'
import type { DirectoryPerson } from './entries.ts'

export function createDirectorySignIn(options: {
  db: Database
  tokens: SessionTokens
  limits: SignIns
  audit: Audit
  directory: Directory
  requireNoSecondFactor: RequireNoSecondFactor
}): DirectorySignIn {
  const { db, tokens, limits, audit, directory, requireNoSecondFactor } = options
  const { source } = directory
  /** Sign-ins that wait for the directory. Those of other people do not wait behind them. */
  const slots = new Slots<'network'>({ network: 20, all: 100 })

  async function create(person: DirectoryPerson, origin: Origin): Promise<IssuedMember> {
    const { subject, email, name } = person
    const facts = { details: { source, email } }
    return audit.recorded({ origin }, 'REGISTER', facts, async recording =>
      recording.commit(async change => {
        const workspace = await findTheWorkspace(change)
        if (!workspace) throw new AppError('NOT_LINKED', 'The first account needs a password of its own: register it.')
        if (workspace.registration === 'CLOSED') {
          throw new AppError('NOT_LINKED', 'This workspace takes no new members: ask an administrator.')
        }
        const holder = email === null ? null : await findEmailHolder(change, email)
        if (holder) {
          const advice = holder.directory
            ? 'an account of another directory. Ask an administrator to take you out of one of the two.'
            : 'another account. Sign in with its password, or ask an administrator to remove it.'
          throw new AppError('NOT_LINKED', `Your email address belongs to ${advice}`)
        }
        const membership = {
          workspaceId: workspace.id,
          role: 'NONE',
          access: allProviders,
          isConfirmed: false,
        } as const
        const issued = { issuer: source, subject, email, name }
        const { member, identityId } = await insertIssuedAccount(change, issued, membership)
        recording.add({ user: member })
        return { subject, identityId, member, deactivatedBy: null, issuedGroups: [] }
      }),
    )
  }

  /** Somebody whom the directory had lost is back. */
  async function reactivate({ member }: IssuedMember, origin: Origin): Promise<void> {
    const facts = { user: member, subject: { kind: 'MEMBER', id: member.userId }, details: { source } } as const
    await audit.recorded({ origin }, 'MEMBER_REACTIVATE', facts, recording =>
      recording.commit(change => reactivateMember(change, member, source)),
    )
  }

  return {
    owns: userId => hasIdentityOf(db, userId, source),

    async signIn({ login, password }, recording, origin, party, signal) {
      using _slot = slots.take({ network: networkOf(origin.address) }, () => {
        const message = 'Too many people are waiting for the directory: try again in some seconds.'
        return new AppError('RATE_LIMITED', message, { retryAfterMs: 5000 })
      })
      recording.add({ details: { source } })
      // One person has several logins, such as a name and an address, and no more guesses for that.
      const tryPassword = (subject: string, work: () => Promise<boolean>) =>
        limits.tryPassword({ account: { person: `${source} ${subject}` }, address: origin.address }, async () => {
          if (await work()) return true
          throw wrongPassword()
        })
      const found = await directory.signIn({ login, password }, tryPassword, signal)
      if (!found) throw wrongPassword()
      const { person, groups } = found
      const [known] = await findIssuedMembers(db, source, [person.subject])
      if (known?.deactivatedBy === source) await reactivate(known, origin)
      const { identityId, member } = known ?? (await create(person, origin))
      if (!member.deactivatedAt) await requireNoSecondFactor(member, { identityId }, party, recording)
      return recording.commit(async change => {
        if (!(await touchIdentity(change, identityId))) throw wrongPassword()
        const now = (await findMember(change, member.workspaceId, member.userId)) ?? member
        const followed = await followIssuedGroups(change, now, { issuer: source, groups })
        if (followed.changes) recording.add({ details: { groups: followed.changes } })
        const by = { identityId, issuerSession: null, isDirectory: true }
        return startSession(tokens, change, recording, followed.member, by, origin)
      })
    },
  }
}

function wrongPassword(): AppError {
  return new AppError('WRONG_EMAIL_OR_PASSWORD', 'The name, the email or the password is wrong.')
}
