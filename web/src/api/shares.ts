/** Changes to shares, which the dialog of an entry and the list of all shares both make. */
import { graphql } from './graphql.ts'

export const UpdateShareMutation = graphql(`
  mutation UpdateShare($input: UpdateShareInput!) {
    updateShare(input: $input) { id recipients { id } }
  }
`)

export const RevokeShareMutation = graphql(`
  mutation RevokeShare($id: ID!) {
    revokeShare(id: $id) { id }
  }
`)

/** Returns the ids of those who are people, or groups. */
export function idsOf<Kind extends string>(recipients: readonly { kind: Kind; id: string }[], kind: Kind): string[] {
  return recipients.filter(each => each.kind === kind).map(({ id }) => id)
}
