import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { useSession } from '../../api/session.ts'

export const CreateShareMutation = graphql(`
  mutation CreateShare($input: CreateShareInput!) {
    createShare(input: $input) { url share { id } }
  }
`)

export const EndShareMutation = graphql(`
  mutation EndShare($id: ID!) {
    revokeShare(id: $id) { id }
  }
`)

const RemoveRecipientMutation = graphql(`
  mutation RemoveRecipient($input: UpdateShareInput!) {
    updateShare(input: $input) { id }
  }
`)

const PresentSharesQuery = graphql(`
  query PresentShares($ofUser: ID, $after: String) {
    shares(first: 100, ofUser: $ofUser, after: $after) {
      nodes {
        id kind state url providerId paths hasPassword expiresAt recipients { kind id name email }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`)

export type PresentShare = ResultOf<typeof PresentSharesQuery>['shares']['nodes'][number]
type Recipient = NonNullable<PresentShare['recipients']>[number]

/** Reads the person's shares that contain all of these entries and work. A member has at most ten pages of shares. */
export function usePresentShares(providerId: string, paths: readonly string[]) {
  const { user } = useSession().viewer
  return useQuery({
    queryKey: [...queryKeys.shares, 'present', providerId, paths],
    queryFn: async ({ signal }) => {
      const found: PresentShare[] = []
      for (let after: string | null = null; ; ) {
        const { shares }: ResultOf<typeof PresentSharesQuery> = await ask(
          PresentSharesQuery,
          { ofUser: user.id, after },
          { signal },
        )
        const contains = (share: PresentShare) => paths.every(path => share.paths.includes(path))
        const isPresent = (share: PresentShare) => share.providerId === providerId && share.state === 'ACTIVE'
        found.push(...shares.nodes.filter(share => isPresent(share) && contains(share)))
        if (!shares.pageInfo.hasNextPage) return found
        after = shares.pageInfo.endCursor
      }
    },
  })
}

/** Ends the access that a person or a group has by a share. A share without other recipients is revoked. @throws StowageError */
export async function removeRecipient(share: PresentShare, { kind, id }: Recipient): Promise<void> {
  if (share.recipients?.length === 1) {
    await ask(EndShareMutation, { id: share.id })
    return
  }
  const removed = kind === 'USER' ? { removeUserIds: [id] } : { removeGroupIds: [id] }
  await ask(RemoveRecipientMutation, { input: { id: share.id, ...removed } })
}
