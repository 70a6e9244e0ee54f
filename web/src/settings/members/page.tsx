import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { useSession } from '../../api/use-session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { AdminOnly } from '../../ui/admin-only.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { EditMemberDialog } from './edit-member-dialog.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { Invites } from './invites.tsx'
import { MemberTable } from './member-table.tsx'
import { type Member, MembersQuery, RemoveMemberMutation } from './operations.ts'
import { ResetDialog } from './reset-dialog.tsx'
import { ViewDialog } from './view-dialog.tsx'

type MemberDialog = { kind: 'invite' } | { kind: 'view' | 'edit' | 'reset' | 'remove'; member: Member }

export function MembersPage() {
  return (
    <AdminOnly title={texts.members} isOfWorkspace>
      <Members />
    </AdminOnly>
  )
}

function Members() {
  const { registration } = useSession().workspace
  const client = useQueryClient()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: queryKeys.members,
    queryFn: ({ signal, pageParam }) => ask(MembersQuery, { after: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ users }) => (users.pageInfo.hasNextPage ? users.pageInfo.endCursor : null),
  })
  const [open, setOpen] = useState<MemberDialog | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.members })
  const reloadInvites = () => client.invalidateQueries({ queryKey: queryKeys.invites })
  return (
    <>
      <div className="page-head">
        <h1>{texts.members}</h1>
        {registration !== 'CLOSED' && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'invite' })}>
            {texts.invite}
          </Button>
        )}
      </div>
      <p className="help">{texts.registrationHelp[registration]}</p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label={texts.loadingMembers} />}
      {data && (
        <MemberTable
          members={data.pages.flatMap(({ users }) => users.nodes)}
          onView={member => setOpen({ kind: 'view', member })}
          onEdit={member => setOpen({ kind: 'edit', member })}
          onReset={member => setOpen({ kind: 'reset', member })}
          onRemove={member => setOpen({ kind: 'remove', member })}
        />
      )}
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          {common.showMore}
        </Button>
      )}
      <Invites />
      {open?.kind === 'invite' && <InviteDialog onCreated={() => void reloadInvites()} onClose={close} />}
      {open?.kind === 'view' && <ViewDialog member={open.member} onClose={close} />}
      {open?.kind === 'edit' && <EditMemberDialog member={open.member} onSaved={reload} onClose={close} />}
      {open?.kind === 'reset' && <ResetDialog member={open.member} onClose={close} />}
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
