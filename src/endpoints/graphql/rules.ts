/** The rules that a field can have as its `authScopes`. `rules-plugin.ts` adds each rule to the description of its field. */
import { authorize, type InputOf, type JobInput, type Need, needs, needsOfJob, needsOfShare } from '../../auth/needs.ts'
import { formatPath, type StoragePath } from '../../auth/path.ts'
import { requireKeyManager, requireScope, requireSession, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Scope } from '../../auth/scopes.ts'
import { requireViewer, type ShareKind } from '../../auth/viewer.ts'
import type { GraphqlContext } from './context.ts'

/**
 * The policy decides each rule before the resolver runs. The services decide again, because other front ends call them,
 * too. Every field of Query and Mutation has a rule, and so does every other field whose resolver uses the context.
 */
export interface Rules {
  /** No credential. */
  public: true
  /** Any credential. */
  credential: true
  /** A session; an API key is refused. */
  session: true
  /** A session, or an `admin` API key without restrictions. */
  keyManager: true
  /** A credential with at least this scope. */
  scope: Scope
  /** The scope `admin`, and access to all providers, including those connected later. */
  workspace: 'admin'
  /** The scope of each need at the location that the input names, within the credential's providers and base paths. */
  at: { needs: readonly Need[]; input: object }
}

/** A rule about locations, which the arguments of the field or its parent name. */
export interface LocationRule {
  needs: readonly Need[]
  namedBy: 'arguments' | 'parent'
  /** The part of the argument `input` that names the locations, such as `job.`. Default: all of it. */
  within?: string
}

/** Maps each rule to the policy. The client gets the error that the policy throws. */
export function decideRules({ viewer }: GraphqlContext) {
  return {
    public: true,
    credential: () => Boolean(requireViewer(viewer)),
    session: () => Boolean(requireSession(viewer)),
    keyManager: () => Boolean(requireKeyManager(viewer)),
    scope: (scope: Scope) => Boolean(requireScope(viewer, scope)),
    workspace: () => Boolean(requireWorkspaceAdmin(viewer)),
    at: ({ needs, input }: Rules['at']) => Boolean(authorize(viewer, needs, input as never)),
  }
}

/** Returns the rule for a field whose arguments, or whose argument `input`, name locations. */
export function at<const N extends readonly Need[]>(operation: N) {
  const rule = (_parent: unknown, args: InputOf<N> | { input: InputOf<N> }) => {
    const input = 'input' in args ? args.input : args
    return { at: { needs: operation, input } }
  }
  return Object.assign(rule, { needs: operation, namedBy: 'arguments' } as const)
}

/** The rule for a field whose argument `input` describes a job. MOVE and DELETE need the scope `write` at the sources, too. */
export const atJob = Object.assign(
  (_parent: unknown, { input }: { input: JobInput }) => ({ at: { needs: needsOfJob(input.kind), input } }),
  { needs: needs.copyJob, namedBy: 'arguments' } as const,
)

/** The rule for a field whose argument `input` has a `job`. */
export const atScheduledJob = Object.assign(
  (parent: unknown, { input }: { input: { job: JobInput } }) => atJob(parent, { input: input.job }),
  { needs: needs.copyJob, namedBy: 'arguments', within: 'job.' } as const,
)

/** The rule for a field whose argument `input` describes a share. DROP needs the scope `write`. */
export const atShare = Object.assign(
  (_parent: unknown, { input }: { input: { kind: ShareKind } & InputOf<typeof needs.shareToView> }) => ({
    at: { needs: needsOfShare(input.kind), input },
  }),
  { needs: needs.shareToView, namedBy: 'arguments' } as const,
)

/** The rule for a field whose argument `input` has a `location`, or null for the whole workspace. */
export const atWebhook = Object.assign(
  (
    _parent: unknown,
    { input: { location } }: { input: { location?: InputOf<typeof needs.webhook> | null | undefined } },
  ) => (location ? { at: { needs: needs.webhook, input: location } } : { workspace: 'admin' as const }),
  { needs: needs.webhook, namedBy: 'arguments', within: 'location.' } as const,
)

/** The rule for a field that reads at the location of its parent entry. */
export const atEntry = Object.assign(
  ({ providerId, path }: { providerId: string; path: StoragePath }) => ({
    at: { needs: needs.read, input: { providerId, path: formatPath(path) } },
  }),
  { needs: needs.read, namedBy: 'parent' } as const,
)
