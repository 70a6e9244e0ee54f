/** Adds the rule of each field to its description, and requires a rule for every field that takes a path. */
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
import type { Need } from '../../auth/needs.ts'
import { type Scope, scopes } from '../../auth/scopes.ts'
import type { LocationRule, Rules } from './rules.ts'

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
  if (at === 'sources' || at === 'others' || at === 'target') return [`${at}.path`]
  return at === 'name' ? ['path', 'name'] : [at]
}

function describeRule(rule: Rule, { isRoot, input }: { isRoot: boolean; input: string }): string[] {
  if ('needs' in rule) return [`Requires ${describeNeeds(rule, input)}.`]
  const { scope, workspace } = rule
  return [
    // Only root fields mention these two rules, because the rule of the root field applies to the fields below it, too.
    ...(rule.public && isRoot ? ['Requires no credential.'] : []),
    ...(rule.credential && isRoot ? ['Requires a credential.'] : []),
    ...(rule.session ? ['Requires a session.'] : []),
    ...(rule.keyManager ? ['Requires a session, or an `admin` key without restrictions.'] : []),
    ...(scope ? [`Requires the scope \`${scope}\`.`] : []),
    ...(workspace ? [`Requires the scope \`${workspace}\` on all providers, without a base path.`] : []),
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
  if (at === 'name') return `at the new \`${input}name\``
  return `at \`${input}${at === 'newPath' ? 'path' : at}\``
}
