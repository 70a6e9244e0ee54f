/** The page on which a person approves or refuses what agents want to do. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/approvals.tsx'
import { formatBytes } from '../../texts/format.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { type Approval, useApprovals } from './approvals.ts'

const StoragesQuery = graphql(`
  query ApprovalStorages { providers { id name } }
`)

const DecideApprovalMutation = graphql(`
  mutation DecideApproval($id: ID!, $isApproved: Boolean!) {
    decideApproval(id: $id, isApproved: $isApproved) { id }
  }
`)

export function ApprovalsPage() {
  const query = useApprovals()
  const client = useQueryClient()
  const storages = useQuery({
    queryKey: [...queryKeys.providers, 'of approvals'],
    queryFn: async ({ signal }) => (await ask(StoragesQuery, {}, { signal })).providers,
  })
  const decide = useMutation({
    mutationFn: (decision: { id: string; isApproved: boolean }) => ask(DecideApprovalMutation, decision),
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.approvals }),
  })
  const approvals = query.data
  return (
    <>
      <PageTitle>{texts.approvals}</PageTitle>
      <h1>{texts.approvals}</h1>
      <p className="help">{texts.help}</p>
      <LoadState query={query} label={texts.loading} />
      {decide.error && <ErrorBox error={decide.error} />}
      {approvals?.length === 0 && <p className="empty">{texts.none}</p>}
      {approvals && approvals.length > 0 && (
        <RowTable label={texts.approvals} columns={[texts.request, texts.agent, texts.asked]}>
          {approvals.map(approval => (
            <Row
              key={approval.id}
              approval={approval}
              storage={storages.data?.find(({ id }) => id === approval.providerId)?.name ?? ''}
              onDecide={isApproved => decide.mutate({ id: approval.id, isApproved })}
            />
          ))}
        </RowTable>
      )}
    </>
  )
}

function Row({
  approval,
  storage,
  onDecide,
}: {
  approval: Approval
  storage: string
  onDecide: (isApproved: boolean) => void
}) {
  const { id, credentialName, owner, entryKind, size, newLength, isPermanent, createdAt } = approval
  const requestId = `approval-${id}`
  const facts = [
    storage,
    texts.entryKinds[entryKind],
    ...(size === null || entryKind === 'FOLDER' ? [] : [formatBytes(size)]),
    ...(newLength === null ? [] : [texts.newText(newLength)]),
    ...(isPermanent ? [texts.forGood] : []),
  ].filter(fact => fact !== '')
  return (
    <tr>
      <td id={requestId}>
        <div className="main-cell">{summaryOf(approval)}</div>
        <div className="help">{facts.join(' · ')}</div>
      </td>
      <td data-label={texts.agent}>
        {credentialName ?? texts.session}
        {owner && <div className="help">{owner.name ?? owner.email}</div>}
      </td>
      <td data-label={texts.asked}>
        <Time at={createdAt} as="distance" />
      </td>
      <td className="actions-cell">
        <div className="actions">
          <Button onPress={() => onDecide(false)} aria-describedby={requestId}>
            {texts.refuse}
          </Button>
          <Button variant="primary" onPress={() => onDecide(true)} aria-describedby={requestId}>
            {texts.approve}
          </Button>
        </div>
      </td>
    </tr>
  )
}

function summaryOf({ kind, path, from }: Approval) {
  const named = <span className="mono">{path}</span>
  if (kind === 'DELETION') return texts.deletes(named)
  return from === null ? texts.replaces(named) : texts.replacesWith(named, <span className="mono">{from}</span>)
}
