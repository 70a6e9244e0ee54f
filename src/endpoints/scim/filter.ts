/** Filters and paths of SCIM (RFC 7644, sections 3.4.2.2 and 3.5.2), as far as directories send them. */
import type { ScimTerm } from '../../db/scim.ts'
import { AppError } from '../../errors.ts'
import { parseJson } from '../../http/json.ts'

/** UTF-16 code units. */
const maxFilter = 1000
/** Conditions of one filter. */
const maxTerms = 10

const attributeAt = /\s*([A-Za-z][\w.:-]{0,120})(?:\[[A-Za-z]{1,20} eq "[^"\]]{0,40}"\](\.[A-Za-z]{1,20})?)?/y
const operatorAt = /\s+(eq|sw|co)\s+/iy
const valueAt = /"(?:[^"\\]|\\["\\/bfnrtu])*"|true|false/iy
const joinAt = /\s+and\s+/iy
const corePrefix = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/

/**
 * Parses conditions that are joined with `and`.
 * @param fields the attributes, in lower case
 * @throws INVALID_INPUT with the type of the error of SCIM
 */
export function parseFilter<Field extends string>(
  text: string,
  fields: Readonly<Record<string, Field>>,
): ScimTerm<Field>[] {
  if (text.length > maxFilter) throw invalidFilter()
  const terms: ScimTerm<Field>[] = []
  let at = 0
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at = pattern.lastIndex
    return found
  }
  do {
    const attribute = take(attributeAt)
    const operator = take(operatorAt)?.[1]?.toLowerCase()
    const value = take(valueAt)?.[0]
    const name = (attribute?.[1] ?? '').toLowerCase().replace(corePrefix, '') + (attribute?.[2] ?? '').toLowerCase()
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!field || !isOperator(operator) || value === undefined || terms.length >= maxTerms) throw invalidFilter()
    terms.push({ field, operator, value: textOf(value) })
  } while (take(joinAt))
  if (text.slice(at).trim() !== '') throw invalidFilter()
  return terms
}

function isOperator(text: string | undefined): text is 'eq' | 'sw' | 'co' {
  return text === 'eq' || text === 'sw' || text === 'co'
}

/** Returns a value as text. @throws INVALID_INPUT */
function textOf(text: string): string {
  if (!text.startsWith('"')) return text.toLowerCase()
  const value = parseJson(Buffer.from(text))
  if (typeof value !== 'string' || !value.isWellFormed() || value.includes('\0')) throw invalidFilter()
  return value
}

function invalidFilter(): AppError {
  const message = `A filter has up to ${maxTerms} conditions with eq, sw or co, joined with "and".`
  return new AppError('INVALID_INPUT', message, { facts: { scimType: 'invalidFilter' } })
}

/** The path of an operation of PATCH. */
export interface ScimPath {
  /** In lower case; null for an attribute of an extension, which nothing here has. */
  attribute: string | null
  /** The only condition of a filter for values, such as `[value eq "..."]`; null for all values. */
  selector: { attribute: string; value: string | boolean } | null
  /** In lower case; null for the attribute as a whole. */
  part: string | null
}

const pathPattern =
  /^([A-Za-z][\w$-]{0,60})(?:\[([A-Za-z]{1,20}) eq ("(?:[^"\\]{0,300})"|true|false)\])?(?:\.([A-Za-z][\w$-]{0,60}))?$/i

/** @throws INVALID_INPUT with the type of the error of SCIM */
export function parsePath(text: string): ScimPath {
  const core = text.replace(/^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i, '')
  if (/^urn:/i.test(core)) return { attribute: null, selector: null, part: null }
  const [, attribute, key, value, part] = pathPattern.exec(core) ?? []
  if (attribute === undefined) throw invalidPath('The path of an operation is malformed.')
  return {
    attribute: attribute.toLowerCase(),
    selector:
      key === undefined || value === undefined ? null : { attribute: key.toLowerCase(), value: selectedValue(value) },
    part: part?.toLowerCase() ?? null,
  }
}

function selectedValue(text: string): string | boolean {
  return text.startsWith('"') ? text.slice(1, -1) : text.toLowerCase() === 'true'
}

export function invalidPath(message: string): AppError {
  return new AppError('INVALID_INPUT', message, { facts: { scimType: 'invalidPath' } })
}
