import { print as printDocument } from '@0no-co/graphql.web'
import type { TadaDocumentNode } from 'gql.tada'

const printed = new WeakMap<object, string>()

/** As text; each document is printed once. */
export function print(document: TadaDocumentNode<unknown, never> | object): string {
  const known = printed.get(document)
  if (known !== undefined) return known
  const text = printDocument(document as Parameters<typeof printDocument>[0])
  printed.set(document, text)
  return text
}
