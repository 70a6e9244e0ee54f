import { print as printDocument } from '@0no-co/graphql.web'
import type { TadaDocumentNode } from 'gql.tada'

const printed = new WeakMap<object, string>()

/** Prints a document as text. The result is cached, so each document is printed once. */
export function print(document: TadaDocumentNode<unknown, never> | object): string {
  const cached = printed.get(document)
  if (cached !== undefined) return cached
  const text = printDocument(document as Parameters<typeof printDocument>[0])
  printed.set(document, text)
  return text
}
