/** Members and invites: the page that lists them, and the dialogs that change them. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { installation, useSession } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { texts as quotaTexts } from '../../texts/quotas.ts'
import { texts as securityTexts } from '../../texts/security.tsx'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { AdminOnly, PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { QuotaDialog } from '../../ui/quota-dialog.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { notify } from '../../ui/toasts.tsx'
import { AccessSummary } from '../access/access.tsx'
import {
  ActivityDialog,
  EditMemberDialog,
  InviteDialog,
  LinkInviteDialog,
  ResetDialog,
  ViewDialog,
} from './dialogs.tsx'
import { Invites } from './invites.tsx'
import { type Member, MembersQuery, RemoveMemberMutation, RemoveSecondFactorsMutation } from './operations.ts'
import { RoleAndGroups } from './role-and-groups.tsx'

type MemberDialog =
  | { kind: 'invite' }
  | { kind: 'view' | 'edit' | 'quota' | 'reset' | 'link' | 'activity' | 'factors' | 'remove'; member: Member }

export function MembersPage() {
  return (
    <AdminOnly title={texts.members} needsUnrestricted>
      <Members />
    </AdminOnly>
  )
}

function Members() {
  const { registration } = useSession().workspace
  const client = useQueryClient()
  const { query, nodes: members } = usePages(
    [...queryKeys.members, 'list'],
    async (after, signal) => (await ask(MembersQuery, { after, serviceAccounts: false }, { signal })).users,
  )
  const { data } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  const [open, setOpen] = useState<MemberDialog | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.members })
  const reloadInvites = () => client.invalidateQueries({ queryKey: queryKeys.invites })
  return (
    <>
      <PageHead title={texts.members}>
        {registration !== 'CLOSED' && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'invite' })}>
            {texts.invite}
          </Button>
        )}
      </PageHead>
      <p className="help">{texts.registrationHelp[registration]}</p>
      <LoadState query={query} label={texts.loadingMembers} />
      {members && (
        <MemberTable
          members={members}
          onView={member => setOpen({ kind: 'view', member })}
          onEdit={member => setOpen({ kind: 'edit', member })}
          onQuota={member => setOpen({ kind: 'quota', member })}
          onReset={member => setOpen({ kind: 'reset', member })}
          onLink={data?.singleSignOn.length ? member => setOpen({ kind: 'link', member }) : null}
          onActivity={member => setOpen({ kind: 'activity', member })}
          onFactors={member => setOpen({ kind: 'factors', member })}
          onRemove={member => setOpen({ kind: 'remove', member })}
        />
      )}
      <ShowMore query={query} />
      <Invites />
      {open?.kind === 'invite' && <InviteDialog onCreated={() => void reloadInvites()} onClose={close} />}
      {open?.kind === 'view' && <ViewDialog member={open.member} onClose={close} />}
      {open?.kind === 'edit' && <EditMemberDialog member={open.member} onSaved={reload} onClose={close} />}
      {open?.kind === 'quota' && (
        <QuotaDialog
          name={open.member.name ?? open.member.email}
          subject={{ userId: open.member.id }}
          quota={open.member.quotaRule}
          onSaved={reload}
          onClose={close}
        />
      )}
      {open?.kind === 'reset' && <ResetDialog member={open.member} onClose={close} />}
      {open?.kind === 'link' && <LinkInviteDialog member={open.member} onClose={close} />}
      {open?.kind === 'activity' && <ActivityDialog member={open.member} onChanged={reload} onClose={close} />}
      {open?.kind === 'factors' && (
        <Confirm
          title={securityTexts.removeFactorsTitle(open.member.name ?? open.member.email)}
          action={securityTexts.reset}
          onConfirm={async () => {
            await ask(RemoveSecondFactorsMutation, { userId: open.member.id })
            notify(securityTexts.factorsRemoved)
          }}
          onClose={close}
        >
          <p>{securityTexts.removeFactorsHelp(open.member.email)}</p>
        </Confirm>
      )}
      {open?.kind === 'remove' && (
        <Confirm
          title={texts.removeTitle(open.member.name ?? open.member.email)}
          action={common.remove}
          onConfirm={async () => {
            await ask(RemoveMemberMutation, { userId: open.member.id })
            await Promise.all([reload(), reloadInvites()])
          }}
          onClose={close}
        >
          <p>{texts.removeHelp(open.member.email)}</p>
        </Confirm>
      )}
    </>
  )
}

interface MemberActions {
  onView: (member: Member) => void
  onEdit: (member: Member) => void
  onQuota: (member: Member) => void
  onReset: (member: Member) => void
  /** Null on a server without single sign-on. */
  onLink: ((member: Member) => void) | null
  onActivity: (member: Member) => void
  onFactors: (member: Member) => void
  onRemove: (member: Member) => void
}

function MemberTable({ members, ...actions }: MemberActions & { members: readonly Member[] }) {
  return (
    <RowTable label={texts.members} columns={[texts.member, texts.role, common.access, texts.joined]}>
      {members.map(member => (
        <Row key={member.id} member={member} {...actions} />
      ))}
    </RowTable>
  )
}

function Row({ member, ...actions }: MemberActions & { member: Member }) {
  const { onView, onEdit, onQuota, onReset, onLink, onActivity, onFactors, onRemove } = actions
  const { user: self } = useSession().viewer
  const { id, name, email, role, createdAt, deactivatedAt, providerAccess } = member
  const nameId = `member-${id}`
  const isSelf = id === self.id
  // Only owners may change owners.
  const mayChange = !isSelf && (role !== 'OWNER' || self.role === 'OWNER')
  return (
    <tr>
      <td id={nameId} className="person-cell">
        {name && <div className="main-cell">{name}</div>}
        <div className={name ? 'help' : 'main-cell'}>{isSelf ? texts.you(email) : email}</div>
      </td>
      <td>
        <RoleAndGroups member={member} />
      </td>
      <td data-label={common.access}>{role === 'NONE' ? common.none : <AccessSummary access={providerAccess} />}</td>
      <td data-label={texts.joined}>
        <Time at={createdAt} />
      </td>
      <td className="actions-cell">
        {mayChange && (
          <div className="actions">
            <Link className="button" to={`/settings/api-keys?user=${id}`} aria-describedby={nameId}>
              {texts.keys}
            </Link>
            <Button onPress={() => onView(member)} aria-describedby={nameId}>
              {texts.viewAs}
            </Button>
            <Button onPress={() => onEdit(member)} aria-describedby={nameId}>
              {common.edit}
            </Button>
            <Button onPress={() => onQuota(member)} aria-describedby={nameId}>
              {quotaTexts.quota}
            </Button>
            <Button onPress={() => onReset(member)} aria-describedby={nameId}>
              {texts.resetPassword}
            </Button>
            {onLink && (
              <Button onPress={() => onLink(member)} aria-describedby={nameId}>
                {texts.linkSignIn}
              </Button>
            )}
            <Button onPress={() => onActivity(member)} aria-describedby={nameId}>
              {deactivatedAt === null ? texts.deactivate : texts.reactivate}
            </Button>
            <Button onPress={() => onFactors(member)} aria-describedby={nameId}>
              {securityTexts.removeFactors}
            </Button>
            <Button variant="danger" onPress={() => onRemove(member)} aria-describedby={nameId}>
              {common.remove}
            </Button>
          </div>
        )}
      </td>
    </tr>
  )
}
