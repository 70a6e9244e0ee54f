import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { usePermissions, useSession } from '../api/use-session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/shares.tsx'
import { Button } from '../ui/button.tsx'
import { Checkbox } from '../ui/checkbox.tsx'
import { Choices } from '../ui/choices.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page-title.tsx'
import { EditShareDialog } from './edit-dialog.tsx'
import { RevokeShareMutation, type Share, SharesQuery } from './operations.ts'
import { ShareTable } from './share-table.tsx'

type Whose = 'mine' | 'everybody'

/** Lists the share links of the person; for administrators without restrictions, those of everybody, too. */
export function SharesPage() {
  const { isUnrestricted } = usePermissions()
  const { user } = useSession().viewer
  const client = useQueryClient()
  const [whose, setWhose] = useState<Whose>('mine')
  const [includeInactive, setIncludeInactive] = useState(false)
  const [editing, setEditing] = useState<Share | null>(null)
  const [revoking, setRevoking] = useState<Share | null>(null)
  const ofUser = whose === 'mine' ? user.id : null
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: [...queryKeys.shares, ofUser, includeInactive],
    queryFn: ({ signal, pageParam }) => ask(SharesQuery, { ofUser, includeInactive, after: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ shares }) => (shares.pageInfo.hasNextPage ? shares.pageInfo.endCursor : null),
  })
  const shares = data?.pages.flatMap(page => page.shares.nodes)
  const storageNames = new Map(data?.pages.at(-1)?.providers.map(({ id, name }) => [id, name]))
  return (
    <>
      <PageTitle>{texts.shares}</PageTitle>
      <div className="page-head">
        <h1>{texts.shares}</h1>
      </div>
      <p className="help">{texts.help}</p>
      <div className="filters">
        {isUnrestricted && (
          <Choices
            label={texts.whose}
            layout="row"
            value={whose}
            onChange={setWhose}
            choices={[
              { value: 'mine', title: texts.mine },
              { value: 'everybody', title: texts.everybody },
            ]}
          />
        )}
        <Checkbox isSelected={includeInactive} onChange={setIncludeInactive}>
          {texts.showEnded}
        </Checkbox>
      </div>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label={texts.loading} />}
      {shares?.length === 0 && (
        <div className="empty">
          <p>{texts.none}</p>
          <p>{texts.noneHelp}</p>
        </div>
      )}
      {shares && shares.length > 0 && (
        <ShareTable
          shares={shares}
          ownId={user.id}
          storageNames={storageNames}
          onEdit={setEditing}
          onRevoke={setRevoking}
        />
      )}
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          {common.showMore}
        </Button>
      )}
      {editing && <EditShareDialog share={editing} onClose={() => setEditing(null)} />}
      {revoking && (
        <Confirm
          title={common.revokeTitle(revoking.paths[0] ?? '')}
          action={common.revoke}
          onConfirm={async () => {
            await ask(RevokeShareMutation, { id: revoking.id })
            await client.invalidateQueries({ queryKey: queryKeys.shares })
          }}
          onClose={() => setRevoking(null)}
        >
          <p>{texts.revokeHelp}</p>
        </Confirm>
      )}
    </>
  )
}
