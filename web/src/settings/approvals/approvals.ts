/** The calls of agents that wait for the viewer. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { ask, stowage } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'

const ApprovalFields = graphql(`
  fragment ApprovalFields on Approval @_unmask {
    id kind credentialName providerId path entryKind size from newLength isPermanent createdAt
    owner { id name email }
  }
`)

const ApprovalsQuery = graphql(
  `
  query Approvals { approvals { ...ApprovalFields } }
`,
  [ApprovalFields],
)

const ApprovalsChanged = graphql(
  `
  subscription ApprovalsChanged { approvalsChanged { ...ApprovalFields } }
`,
  [ApprovalFields],
)

export type Approval = ResultOf<typeof ApprovalsQuery>['approvals'][number]

export function useApprovals() {
  return useQuery({
    queryKey: queryKeys.approvals,
    queryFn: async ({ signal }) => (await ask(ApprovalsQuery, {}, { signal })).approvals,
  })
}

const onVisibility = (listener: () => void) => {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/** Keeps the list up to date while the page is visible, because a browser opens few connections to a server. */
export function useLiveApprovals() {
  const client = useQueryClient()
  const isVisible = useSyncExternalStore(onVisibility, () => !document.hidden)
  useEffect(() => {
    if (!isVisible) return
    const controller = new AbortController()
    const { signal } = controller
    async function follow(): Promise<void> {
      for await (const { approvalsChanged } of stowage.subscribe(ApprovalsChanged, {}, { signal }))
        client.setQueryData<readonly Approval[]>(queryKeys.approvals, approvalsChanged)
    }
    void follow().catch(async () => {
      // The session may have ended.
      if (!signal.aborted) await client.invalidateQueries({ queryKey: queryKeys.session })
    })
    return () => controller.abort()
  }, [client, isVisible])
  return useApprovals()
}
