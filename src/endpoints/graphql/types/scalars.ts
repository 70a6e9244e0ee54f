import { GraphQLError, GraphQLScalarType, type ValueNode, valueFromASTUntyped } from 'graphql'
import { GraphQLDateTimeISO, GraphQLJSON, GraphQLSafeInt } from 'graphql-scalars'
import { builder } from '../builder.ts'

/** Replaces the library's message, which does not say how to write a time. */
function parseTime(value: unknown, node?: ValueNode): Date {
  try {
    return GraphQLDateTimeISO.parseValue(value)
  } catch {
    const message = 'A DateTime must be written as YYYY-MM-DDThh:mm:ssZ, or with an offset such as +02:00 instead of Z.'
    throw new GraphQLError(message, node ? { nodes: node } : {})
  }
}

const dateTime = new GraphQLScalarType({
  ...GraphQLDateTimeISO.toConfig(),
  parseValue: value => parseTime(value),
  parseLiteral: node => parseTime(valueFromASTUntyped(node), node),
})

builder.addScalarType('DateTime', dateTime, {
  description: 'A time in ISO 8601 with offset, as in RFC 3339: 2026-11-21T09:30:00.000Z.',
})
builder.addScalarType('SafeInt', GraphQLSafeInt, {
  description: 'A whole number up to 2^53 - 1, as a JSON number.',
})
builder.addScalarType('JSON', GraphQLJSON, { description: 'Any JSON value.' })
