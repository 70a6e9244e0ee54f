import {
  coerceInputValue,
  GraphQLError,
  type GraphQLSchema,
  getVariableValues,
  isInputType,
  type OperationDefinitionNode,
  print,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'
import { maxErrors, RequestRefused } from './error-formatter.ts'

/**
 * Returns the values of an operation's variables, with defaults. The errors omit the values, because graphql's own
 * messages repeat whole inputs with their passwords and keys. @throws INVALID_INPUT as `RequestRefused`
 */
export function readVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): Record<string, unknown> {
  const definitions = operation.variableDefinitions ?? []
  // One error is enough to know that the values are invalid; each of graphql's errors prints the whole variable.
  const values = getVariableValues(schema, definitions, variables, { maxErrors: 1 })
  if (!values.errors) return values.coerced
  const errors = problems(schema, definitions, variables)
  throw new RequestRefused('INVALID_INPUT', errors.length > 0 ? errors : values.errors)
}

/** Stops at `maxErrors`, because graphql searches for similar names for each problem, which is slow. */
function problems(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  variables: Record<string, unknown>,
): GraphQLError[] {
  const errors: GraphQLError[] = []
  const enough = Symbol('enough')
  try {
    for (const node of definitions) collect(node)
  } catch (thrown) {
    if (thrown !== enough) throw thrown
  }
  return errors

  function collect(node: VariableDefinitionNode): void {
    const name = node.variable.name.value
    const type = typeFromAST(schema, node.type as never)
    const value = variables[name]
    const refuse = (what: string) => {
      errors.push(new GraphQLError(what, { nodes: node }))
      if (errors.length === maxErrors) throw enough
    }
    if (!isInputType(type)) return
    if (value === undefined || value === null) {
      if (print(node.type).endsWith('!') && (value === null || !node.defaultValue))
        refuse(`Variable "$${name}" of the type "${print(node.type)}" is missing or null.`)
      return
    }
    coerceInputValue(value, type, (path, invalid, { message }) => {
      const position = [name, ...path].join('.')
      refuse(`Variable "$${name}" has an invalid value at "${position}": ${withoutValue(message, invalid)}`)
    })
  }
}

function withoutValue(text: string, value: unknown): string {
  const message = text.replace(/^([A-Z]\w* cannot represent [^:"]*): .*$/s, '$1.')
  if (typeof value === 'object') return message
  const texts = [JSON.stringify(value), String(value)].filter(text => text.length > 1)
  return texts.reduce((text, each) => text.replaceAll(each, '...'), message)
}
