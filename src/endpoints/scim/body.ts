/** Reads bodies of SCIM. Names of attributes have no case (RFC 7643, section 2.1), and directories send numbers of forms. */
import { AppError } from '../../errors.ts'
import { parsePath, type ScimPath } from './filter.ts'

/** An object with the names of its attributes in lower case. */
export type Attributes = ReadonlyMap<string, unknown>

/** @throws INVALID_INPUT */
export function attributesOf(value: unknown): Attributes {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidValue('The body must be a JSON object.')
  }
  return new Map(Object.entries(value).map(([name, each]) => [name.toLowerCase(), each]))
}

/** Returns a text, or null for null and for an empty one, which directories send for a missing value. @throws INVALID_INPUT */
export function textOrNull(value: unknown, what: string): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw invalidValue(`${what} must be a text.`)
  return value
}

/** Microsoft Entra sends "True" and "False". @throws INVALID_INPUT */
export function booleanOf(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value.toLowerCase() : ''
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalidValue(`${what} must be true or false.`)
}

/** Returns the values of a list, or of a single value. */
export function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

/** An operation of PATCH (RFC 7644, section 3.5.2). */
export interface PatchOperation {
  kind: 'add' | 'replace' | 'remove'
  path: ScimPath | null
  value: unknown
}

const maxOperations = 1000

/** @throws INVALID_INPUT */
export function operationsOf(body: unknown): PatchOperation[] {
  const operations = attributesOf(body).get('operations')
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > maxOperations) {
    throw invalidValue(`"Operations" is a list of 1 to ${maxOperations} operations.`)
  }
  return operations.map(each => {
    const operation = attributesOf(each)
    const op = operation.get('op')
    const kind = typeof op === 'string' ? op.toLowerCase() : ''
    if (kind !== 'add' && kind !== 'replace' && kind !== 'remove') {
      throw invalidValue('"op" is "add", "replace" or "remove".')
    }
    const path = textOrNull(operation.get('path'), 'path')
    if (kind === 'remove' && path === null) {
      throw new AppError('INVALID_INPUT', 'An operation that removes needs a path.', {
        facts: { scimType: 'noTarget' },
      })
    }
    return { kind, path: path === null ? null : parsePath(path), value: operation.get('value') }
  })
}

export function invalidValue(message: string): AppError {
  return new AppError('INVALID_INPUT', message, { facts: { scimType: 'invalidValue' } })
}
