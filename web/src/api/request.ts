import type { TadaDocumentNode } from 'gql.tada'
import { anonymous, stowage } from './client.ts'

/** Runs a GraphQL operation. With `isAnonymous` it is sent without the cookie. @throws StowageError */
export function ask<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  { signal, isAnonymous = false }: { signal?: AbortSignal; isAnonymous?: boolean } = {},
): Promise<Result> {
  return (isAnonymous ? anonymous : stowage).graphql(document, variables, signal && { signal })
}
