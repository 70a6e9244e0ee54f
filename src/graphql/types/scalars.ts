import { GraphQLDateTimeISO, GraphQLJSON, GraphQLSafeInt } from 'graphql-scalars'
import { builder } from '../builder.ts'

builder.addScalarType('DateTime', GraphQLDateTimeISO, {
  description: 'A time in ISO 8601 with offset, as in RFC 3339: 2026-11-21T09:30:00.000Z.',
})
builder.addScalarType('SafeInt', GraphQLSafeInt, {
  description: 'A whole number up to 2^53 - 1, as a JSON number.',
})
builder.addScalarType('JSON', GraphQLJSON, { description: 'Any JSON value.' })
