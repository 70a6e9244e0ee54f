import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/request.ts'
import { useSession } from '../../app/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { AdminOnly } from '../admin-only.tsx'
import { EditMemberDialog } from './edit-member-dialog.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { Invites } from './invites.tsx'
import { MemberTable } from './member-table.tsx'
import { invitesKey, type Member, MembersQuery, membersKey, RemoveMemberMutation } from './operations.ts'

type Open = { kind: 'invite' } | { kind: 'edit' | 'remove'; member: Member }

export function MembersPage() {
  return (
    <AdminOnly title="Members">
      <Members />
    </AdminOnly>
  )
}

function Members() {
  const { registration } = useSession().workspace
  const client = useQueryClient()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: membersKey,
    queryFn: ({ signal, pageParam }) => ask(MembersQuery, { after: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ users }) => (users.pageInfo.hasNextPage ? users.pageInfo.endCursor : null),
  })
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: membersKey })
  const reloadInvites = () => client.invalidateQueries({ queryKey: invitesKey })
  return (
    <>
      <div className="page-head">
        <h1>Members</h1>
        {registration !== 'CLOSED' && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'invite' })}>
            Invite
          </Button>
        )}
      </div>
      <p className="help">{about[registration]}</p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label="Loading the members" />}
      {data && (
        <MemberTable
          members={data.pages.flatMap(({ users }) => users.nodes)}
          onEdit={member => setOpen({ kind: 'edit', member })}
          onRemove={member => setOpen({ kind: 'remove', member })}
        />
      )}
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          Show more
        </Button>
      )}
      <Invites />
      {open?.kind === 'invite' && <InviteDialog onMade={() => void reloadInvites()} onClose={close} />}
      {open?.kind === 'edit' && <EditMemberDialog member={open.member} onSaved={reload} onClose={close} />}
      {open?.kind === 'remove' && (
        <Confirm
          title={`Remove ${open.member.name ?? open.member.email}?`}
          action="Remove"
          act={async () => {
            await ask(RemoveMemberMutation, { userId: open.member.id })
            await Promise.all([reload(), reloadInvites()])
          }}
          onClose={close}
        >
          <p>The account of {open.member.email}, its sessions and its API keys end at once. Files stay as they are.</p>
        </Confirm>
      )}
    </>
  )
}

const about = {
  OPEN: 'Anybody can register, and has no access before somebody here gives it; an invite gives it at once.',
  INVITE: 'New members need an invite.',
  CLOSED: 'The workspace takes no new members: see Workspace to change that.',
} as const
