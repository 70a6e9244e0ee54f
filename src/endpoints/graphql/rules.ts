/**
 * The rules that a field can have as its `authScopes`. A plugin of the schema adds each rule to the description of its field, and
 * requires a rule for every field that takes a path.
 */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from 'graphql'
import {
  Authorized,
  type InputOf,
  type JobInput,
  type Need,
  needs,
  needsOfJob,
  needsOfShare,
} from '../../auth/needs.ts'
import {
  requireAnySession,
  requireKeyManager,
  requireRecent,
  requireScope,
  requireSession,
  requireWorkspaceAdmin,
} from '../../auth/policy.ts'
import { type Scope, scopes } from '../../auth/scopes.ts'
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
  /** A session, also one that lacks the second factor which the workspace requires. */
  anySession: true
  /** A session whose member has proved who they are within ten minutes, or a key. */
  recent: true
  /** A session, or an `admin` API key without restrictions. */
  keyManager: true
  /** A credential with at least this scope. */
  scope: Scope
  /** The scope `admin`, and access to all providers, including those connected later. */
  workspace: 'admin'
  /** The scope of each need at the location that the input names, within the credential's providers and base paths. */
  at: { needs: readonly Need[]; input: object; args: object }
  /** The scope `read` at the path of an entry, or of a version of it. */
  entry: { entry: FoundAt; args: object }
}

type FoundAt = Pick<FileEntry, 'providerId' | 'path'> & Partial<Pick<FileEntry, typeof foundWith>>

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
    anySession: () => Boolean(requireAnySession(viewer)),
    recent: () => requireRecent(viewer) === undefined,
    keyManager: () => Boolean(requireKeyManager(viewer)),
    scope: (scope: Scope) => Boolean(requireScope(viewer, scope)),
    workspace: () => Boolean(requireWorkspaceAdmin(viewer)),
    at: ({ needs, input, args }: Rules['at']) => keep(args, Authorized.for(viewer, needs, input as never)),
    entry: ({ entry, args }: Rules['entry']) => keep(args, Authorized.toRead(viewer, entry[foundWith] ?? null, entry)),
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
    at: { needs: needsOfJob(args.input), input: args.input, args },
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
export const atEntry = Object.assign((entry: FoundAt, args: object) => ({ entry: { entry, args } }), {
  needs: needs.read,
  namedBy: 'parent',
} as const)

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      rules: RulesPlugin<Types>
    }
  }
}

type Rule = Partial<Omit<Rules, 'at' | 'entry'>> | LocationRule

/** Marks an argument or input field that looks like a path but at which nothing is read or written. */
export const notALocation = { extensions: { isLocation: false } } as const

class RulesPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const rule = config.pothosOptions.authScopes as Rule | undefined
    if (!rule) return config
    const isRoot = ['Query', 'Mutation', 'Subscription'].includes(config.parentType)
    const within = 'needs' in rule ? (rule.within ?? '') : ''
    const sentences = describeRule(rule, { isRoot, input: `${'input' in config.args ? 'input.' : ''}${within}` })
    return { ...config, description: [config.description, ...sentences].join(' ') }
  }

  override afterBuild(schema: GraphQLSchema): GraphQLSchema {
    requireLocationRules(schema)
    return schema
  }
}

SchemaBuilder.registerPlugin('rules', RulesPlugin)

/** @throws if a field takes a path and its rule does not say which scope it needs there */
export function requireLocationRules(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const field of Object.values(type.getFields())) {
      const rule = ruleOf(field)
      const isStated = (name: string) =>
        rule?.needs.some(need =>
          inputNames(need).some(each => `${rule.within ?? ''}${each}` === name.replace(/^input\./, '')),
        )
      const unstated = locationNames(field.args).find(name => rule?.namedBy !== 'arguments' || !isStated(name))
      if (unstated === undefined) continue
      throw new Error(
        `${type.name}.${field.name} takes "${unstated}": declare the scope that it needs there with authScopes: at(...), or mark the argument as notALocation.`,
      )
    }
  }
}

/** Returns the location rule of a field, or null. */
export function ruleOf(field: GraphQLField<unknown, unknown>): LocationRule | null {
  const options = field.extensions.pothosOptions as { authScopes?: Rule } | undefined
  const rule = options?.authScopes
  return rule && 'needs' in rule ? rule : null
}

/** Returns the arguments and input fields that look like a path: `path`, `input.toPath`. */
function locationNames(
  inputs: readonly (GraphQLArgument | GraphQLInputField)[],
  seen: readonly object[] = [],
): string[] {
  return inputs.flatMap(input => {
    const { name, type, extensions } = input
    const named = getNamedType(type)
    if (isInputObjectType(named)) {
      // An input object can contain itself.
      if (seen.includes(named)) return []
      const inner = locationNames(Object.values(named.getFields()), [...seen, named])
      return inner.map(each => `${name}.${each}`)
    }
    return /path/i.test(name) && extensions.isLocation !== false ? [name] : []
  })
}

/** Returns the input fields that a need reads, other than the provider. */
function inputNames({ at }: Need): string[] {
  if (at === 'newPath') return ['path']
  if (at === 'original' || at === 'copies') return ['sources.path']
  if (at === 'sources' || at === 'others' || at === 'within' || at === 'target') return [`${at}.path`]
  return at === 'name' ? ['path', 'name'] : [at]
}

function describeRule(rule: Rule, { isRoot, input }: { isRoot: boolean; input: string }): string[] {
  if ('needs' in rule) return [`Requires ${describeNeeds(rule, input)}.`]
  const { scope, workspace } = rule
  return [
    // Only root fields mention these two rules, because the rule of the root field applies to the fields below it, too.
    ...(rule.public && isRoot ? ['Requires no credential.'] : []),
    ...(rule.credential && isRoot ? ['Requires a credential.'] : []),
    ...(rule.session || rule.anySession ? ['Requires a session.'] : []),
    ...(rule.keyManager ? ['Requires a session, or an `admin` key without restrictions.'] : []),
    ...(scope ? [`Requires the scope \`${scope}\`.`] : []),
    ...(workspace ? [`Requires the scope \`${workspace}\` on all providers, without a base path.`] : []),
    ...(rule.recent ? ['In a session, requires that `confirmIdentity` or a sign-in is at most ten minutes old.'] : []),
  ]
}

/** "the scope `read` at `input.path`, the scope `write` at `input.toPath`" */
function describeNeeds({ needs, namedBy }: LocationRule, input: string): string {
  const byScope = scopes.flatMap((scope: Scope) => {
    const locations = needs.filter(need => need.scope === scope).map(need => describeLocation(need, namedBy, input))
    return locations.length > 0 ? [`the scope \`${scope}\` ${locations.join(' and ')}`] : []
  })
  return byScope.join(', and ')
}

function describeLocation({ at }: Need, namedBy: LocationRule['namedBy'], input: string): string {
  if (namedBy === 'parent') return 'at the path of this entry'
  if (at === 'id') return `on all of the provider \`${input}id\``
  if (at === 'trashed') return 'at the path at which the entry was deleted'
  if (at === 'version') return 'at the path of the file'
  if (at === 'name') return `at the new \`${input}name\``
  return `at \`${input}${at === 'newPath' ? 'path' : at}\``
}
