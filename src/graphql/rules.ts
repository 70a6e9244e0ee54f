/** What a field needs, as its `authScopes`. `rules-plugin.ts` writes each rule into the description of its field. */
import { authorize, type InputOf, type Need, needs } from '../auth/needs.ts'
import { formatPath, type StoragePath } from '../auth/path.ts'
import { requireEveryProvider, requireKeyManager, requireScope, requireSession } from '../auth/policy.ts'
import type { Scope } from '../auth/scopes.ts'
import { requireViewer } from '../auth/viewer.ts'
import type { GraphqlContext } from './context.ts'

/**
 * The policy decides each of them before the resolver runs; the services decide again, for front ends that are not
 * GraphQL. Every field of Query and Mutation has a rule, and every other field whose resolver uses the context.
 */
export interface Rules {
  /** Nothing: anybody may ask. */
  public: true
  /** Any credential. */
  credential: true
  /** A session; an API key does not do. */
  session: true
  /** A session, or an API key that is as good as one. */
  keyManager: true
  /** A credential that has at least this scope. */
  scope: Scope
  /** The scope, and access to all providers, also those connected later. */
  everyProvider: Scope
  /** The scope of each need at the location that the input names: inside the credential's providers and base paths. */
  at: { needs: readonly Need[]; input: object }
}

/** A rule about locations: `needs` is what it states, `of` where the locations are named. */
export interface LocationRule {
  needs: readonly Need[]
  of: 'arguments' | 'parent'
}

/** How the policy decides each rule: what it throws reaches the client as it is. */
export function decideRules({ viewer }: GraphqlContext) {
  return {
    public: true,
    credential: () => Boolean(requireViewer(viewer)),
    session: () => Boolean(requireSession(viewer)),
    keyManager: () => Boolean(requireKeyManager(viewer)),
    scope: (scope: Scope) => Boolean(requireScope(viewer, scope)),
    everyProvider: (scope: Scope) => Boolean(requireEveryProvider(viewer, scope)),
    at: ({ needs, input }: Rules['at']) => Boolean(authorize(viewer, needs, input as never)),
  }
}

/** For a field whose arguments name locations, by themselves or in its argument `input`. */
export function at<const N extends readonly Need[]>(operation: N) {
  const rule = (_parent: unknown, args: InputOf<N> | { input: InputOf<N> }) => {
    const input = 'input' in args ? args.input : args
    return { at: { needs: operation, input } }
  }
  return Object.assign(rule, { needs: operation, of: 'arguments' } as const)
}

/** For a field that reads at the location of the entry that it belongs to. */
export const atEntry = Object.assign(
  ({ providerId, path }: { providerId: string; path: StoragePath }) => ({
    at: { needs: needs.read, input: { providerId, path: formatPath(path) } },
  }),
  { needs: needs.read, of: 'parent' } as const,
)
