import type { ObjectRef, TypeParam } from '@pothos/core'
import { builder } from '../builder.ts'
import { pageCost } from '../cost.ts'

/** One page of a list. */
export interface Page<Node> {
  edges: { node: Node; cursor: string }[]
  hasNext: boolean
  hasPrevious: boolean
  /** The cursor after which the next page starts; null if there is none. */
  endCursor: string | null
}

/** @param after the cursor that the page starts after */
export function toPage<Item extends { cursor: string }, Node>(
  { items, hasNext, endCursor }: { items: readonly Item[]; hasNext: boolean; endCursor?: string | null },
  after: string | null | undefined,
  nodeOf: (item: Item) => Node,
): Page<Node> {
  const edges = items.map(item => ({
    node: nodeOf(item),
    get cursor() {
      return item.cursor
    },
  }))
  return { edges, hasNext, hasPrevious: after != null, endCursor: endCursor ?? edges.at(-1)?.cursor ?? null }
}

type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never

const PageInfo = builder.objectRef<Page<unknown>>('PageInfo').implement({
  description: 'The position of a page in its list.',
  fields: t => ({
    hasNextPage: t.boolean({
      description: 'Whether there are entries after this page.',
      resolve: page => page.hasNext,
    }),
    hasPreviousPage: t.boolean({
      description: 'Whether the page starts after a cursor.',
      resolve: page => page.hasPrevious,
    }),
    startCursor: t.string({
      nullable: true,
      description: 'The cursor of the first edge, or null if the page is empty.',
      resolve: page => page.edges.at(0)?.cursor ?? null,
    }),
    endCursor: t.string({
      nullable: true,
      description:
        'The cursor of the last edge, or null if the page is empty. Pass it as `after` to get the next page.',
      resolve: page => page.endCursor,
    }),
  }),
})

/** Defines `<name>Connection` and `<name>Edge`, which look like those of GitHub's API. @param what a plural noun */
export function definePage<Node>(name: string, node: TypeParam<Types>, what: string): ObjectRef<Types, Page<Node>> {
  const Edge = builder.objectRef<{ node: Node; cursor: string }>(`${name}Edge`).implement({
    description: `One of the ${what}, with its cursor.`,
    fields: t => ({
      node: t.field({ type: node, description: 'The entry of the list.', resolve: edge => edge.node as never }),
      cursor: t.exposeString('cursor', {
        description: 'An opaque cursor. Pass it as `after` to get the page that starts after this entry.',
      }),
    }),
  })
  return builder.objectRef<Page<Node>>(`${name}Connection`).implement({
    description: `One page of ${what}.`,
    fields: t => ({
      nodes: t.field({
        type: [node] as never,
        description: 'The entries of this page.',
        complexity: pageCost,
        resolve: page => page.edges.map(edge => edge.node) as never,
      }),
      edges: t.field({
        type: [Edge],
        description: 'The entries of this page, each with its cursor.',
        complexity: pageCost,
        resolve: page => page.edges,
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'The position of this page in the list.',
        resolve: page => page,
      }),
    }),
  })
}
