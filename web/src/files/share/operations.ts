import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { useSession } from '../../api/session.ts'
import { idsOf, RevokeShareMutation, UpdateShareMutation } from '../../api/shares.ts'

export const CreateShareMutation = graphql(`
  mutation CreateShare($input: CreateShareInput!) {
    createShare(input: $input) { url share { id } }
  }
`)

const PresentSharesQuery = graphql(`
  query PresentShares($ofUser: ID, $providerId: ID!, $path: String!, $after: String) {
    shares(first: 100, ofUser: $ofUser, providerId: $providerId, path: $path, after: $after) {
      nodes {
        id kind state url paths hasPassword expiresAt recipients { kind id name email }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`)

export type PresentShare = ResultOf<typeof PresentSharesQuery>['shares']['nodes'][number]
type PresentRecipient = NonNullable<PresentShare['recipients']>[number]

/** Reads the person's shares that contain all of these entries and work. */
export function usePresentShares(providerId: string, paths: readonly string[]) {
  const { user } = useSession().viewer
  return useQuery({
    queryKey: [...queryKeys.shares, 'present', providerId, paths],
    queryFn: async ({ signal }) => {
      const [path = '/'] = paths
      const found: PresentShare[] = []
      for (let after: string | null = null; ; ) {
        const { shares }: ResultOf<typeof PresentSharesQuery> = await ask(
          PresentSharesQuery,
          { ofUser: user.id, providerId, path, after },
          { signal },
        )
        const contains = (share: PresentShare) => paths.every(each => share.paths.includes(each))
        // Nobody can open a share whose recipients are all gone.
        const works = ({ state, recipients }: PresentShare) => state === 'ACTIVE' && recipients?.length !== 0
        found.push(...shares.nodes.filter(share => works(share) && contains(share)))
        if (!shares.pageInfo.hasNextPage) return found
        after = shares.pageInfo.endCursor
      }
    },
  })
}

/**
 * Ends the access that a person or a group has by a share, and revokes a share that has no recipients after that. Others may have been added
 * since the share was shown, so the server says who is left.
 * @throws StowageError
 */
export async function removeRecipient({ id }: PresentShare, recipient: PresentRecipient): Promise<void> {
  const removed = { removeUserIds: idsOf([recipient], 'USER'), removeGroupIds: idsOf([recipient], 'GROUP') }
  const { updateShare } = await ask(UpdateShareMutation, { input: { id, ...removed } })
  if (updateShare.recipients?.length === 0) await ask(RevokeShareMutation, { id })
}
