/** The rules that a field can have as its `authScopes`. `rules-plugin.ts` adds each rule to the description of its field. */
import {
  Authorized,
  type InputOf,
  type JobInput,
  type Need,
  needs,
  needsOfJob,
  needsOfShare,
} from '../../auth/needs.ts'
import { requireKeyManager, requireScope, requireSession, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Scope } from '../../auth/scopes.ts'
import { requireViewer, type ShareKind } from '../../auth/viewer.ts'
import { type FileEntry, foundWith } from '../../services/files/index.ts'
import type { GraphqlContext } from './context.ts'

/**
 * The policy decides each rule before the resolver runs. The decision of a rule about locations is kept for the resolver, which passes it
 * on to the service: see `authorizedBy`. Every field of Query and Mutation has a rule, and so does every other field whose resolver uses the context.
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
  at: { needs: readonly Need[]; input: object; args: object }
  /** The scope `read` at the path of an entry. */
  entry: { entry: FileEntry; args: object }
}

/** A rule about locations, which the arguments of the field or its parent name. */
export interface LocationRule {
  needs: readonly Need[]
  namedBy: 'arguments' | 'parent'
  /** The part of the argument `input` that names the locations, such as `job.`. Default: all of it. */
  within?: string
}

/** Maps each rule to the policy. The client gets the error that the policy throws. */
export function decideRules(context: GraphqlContext) {
  const { viewer } = context
  const keep = (args: object, decision: Authorized) => Boolean(decisionsOf(context).set(args, decision))
  return {
    public: true,
    credential: () => Boolean(requireViewer(viewer)),
    session: () => Boolean(requireSession(viewer)),
    keyManager: () => Boolean(requireKeyManager(viewer)),
    scope: (scope: Scope) => Boolean(requireScope(viewer, scope)),
    workspace: () => Boolean(requireWorkspaceAdmin(viewer)),
    at: ({ needs, input, args }: Rules['at']) => keep(args, Authorized.for(viewer, needs, input as never)),
    entry: ({ entry, args }: Rules['entry']) => keep(args, Authorized.toRead(viewer, entry[foundWith], entry)),
  }
}

/** The decisions in one request or event, by the arguments of the field, which are a new object for each of its calls. */
const decisions = new WeakMap<GraphqlContext, WeakMap<object, Authorized>>()

function decisionsOf(context: GraphqlContext): WeakMap<object, Authorized> {
  const known = decisions.get(context) ?? new WeakMap<object, Authorized>()
  decisions.set(context, known)
  return known
}

/** Returns the decision of a field's rule about these needs, for the service. @throws if the field has no such rule */
export function authorizedBy<N extends readonly Need[]>(
  context: GraphqlContext,
  args: object,
  _needs: N,
): { authorized: Authorized<N> } {
  const authorized = decisionsOf(context).get(args)
  if (!authorized) throw new Error('The rule of the field has made no decision about a location.')
  // The service checks that the decision is about these needs.
  return { authorized: authorized as Authorized<N> }
}

/** Returns the rule for a field whose arguments, or whose argument `input`, name locations. */
export function at<const N extends readonly Need[]>(operation: N) {
  const rule = (_parent: unknown, args: InputOf<N> | { input: InputOf<N> }) => {
    const input = 'input' in args ? args.input : args
    return { at: { needs: operation, input, args } }
  }
  return Object.assign(rule, { needs: operation, namedBy: 'arguments' } as const)
}

/** The rule for a field whose argument `input` describes a job. MOVE and DELETE need the scope `write` at the sources, too. */
export const atJob = Object.assign(
  (_parent: unknown, args: { input: JobInput }) => ({
    at: { needs: needsOfJob(args.input.kind), input: args.input, args },
  }),
  { needs: needs.copyJob, namedBy: 'arguments' } as const,
)

/** The rule for a field whose argument `input` has a `job`. */
export const atScheduledJob = Object.assign(
  (parent: unknown, { input }: { input: { job: JobInput } }) => atJob(parent, { input: input.job }),
  { needs: needs.copyJob, namedBy: 'arguments', within: 'job.' } as const,
)

/** The rule for a field whose argument `input` describes a share. DROP needs the scope `write`. */
export const atShare = Object.assign(
  (_parent: unknown, args: { input: { kind: ShareKind } & InputOf<typeof needs.shareToView> }) => ({
    at: { needs: needsOfShare(args.input.kind), input: args.input, args },
  }),
  { needs: needs.shareToView, namedBy: 'arguments' } as const,
)

/** The rule for a field whose argument `input` has a `location`, or null for the whole workspace. */
export const atWebhook = Object.assign(
  (_parent: unknown, args: { input: { location?: InputOf<typeof needs.webhook> | null | undefined } }) => {
    const { location } = args.input
    return location ? { at: { needs: needs.webhook, input: location, args } } : { workspace: 'admin' as const }
  },
  { needs: needs.webhook, namedBy: 'arguments', within: 'location.' } as const,
)

/** The rule for a field that reads at the location of its parent entry. */
export const atEntry = Object.assign((entry: FileEntry, args: object) => ({ entry: { entry, args } }), {
  needs: needs.read,
  namedBy: 'parent',
} as const)
