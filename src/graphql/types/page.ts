import type { ObjectRef, TypeParam } from '@pothos/core'
import { builder } from '../builder.ts'
import { pageCost } from '../cost.ts'

/** One page of a list. */
export interface Page<Node> {
  edges: { node: Node; cursor: string }[]
  hasNext: boolean
  hasPrevious: boolean
}

type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never

const PageInfo = builder.objectRef<Page<unknown>>('PageInfo').implement({
  description: 'Where a page stands in its list.',
  fields: t => ({
    hasNextPage: t.boolean({ description: 'Whether something follows.', resolve: page => page.hasNext }),
    hasPreviousPage: t.boolean({
      description: 'Whether the page began after a cursor.',
      resolve: page => page.hasPrevious,
    }),
    startCursor: t.string({
      nullable: true,
      description: 'Of the first edge; null where there is none.',
      resolve: page => page.edges.at(0)?.cursor ?? null,
    }),
    endCursor: t.string({
      nullable: true,
      description: 'Of the last edge, to be given as `after` for the next page; null where there is none.',
      resolve: page => page.edges.at(-1)?.cursor ?? null,
    }),
  }),
})

/** `<name>Connection` and `<name>Edge`, after GitHub's habit. */
export function definePage<Node>(name: string, node: TypeParam<Types>, what: string): ObjectRef<Types, Page<Node>> {
  const Edge = builder.objectRef<{ node: Node; cursor: string }>(`${name}Edge`).implement({
    description: `One of the ${what}, with where it stands in the list.`,
    fields: t => ({
      node: t.field({ type: node, description: 'The item itself.', resolve: edge => edge.node as never }),
      cursor: t.exposeString('cursor', { description: 'Opaque. A page that begins after this one has it as `after`.' }),
    }),
  })
  return builder.objectRef<Page<Node>>(`${name}Connection`).implement({
    description: `One page of ${what}.`,
    fields: t => ({
      nodes: t.field({
        type: [node] as never,
        description: 'The items of this page.',
        complexity: pageCost,
        resolve: page => page.edges.map(edge => edge.node) as never,
      }),
      edges: t.field({
        type: [Edge],
        description: 'The items of this page, each with its cursor.',
        complexity: pageCost,
        resolve: page => page.edges,
      }),
      pageInfo: t.field({ type: PageInfo, description: 'Where this page stands in the list.', resolve: page => page }),
    }),
  })
}
