/** The policy of a form: what its fields may be (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html). */
import { parseJson } from '../../http/json.ts'
import { S3Error } from './errors.ts'

/** Bytes: the sizes of the file that the policy allows. */
export interface SizeRange {
  min: number
  max: number
}

export interface Policy {
  /** Milliseconds since 1970. */
  expiresAt: number
  conditions: readonly Condition[]
  sizes: SizeRange
}

interface Condition {
  kind: 'eq' | 'starts-with'
  /** In lowercase. */
  field: string
  value: string
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/
const maxConditions = 100
/** Fields that no condition names, because they sign the form or have no effect. */
const uncovered = /^(?:policy|x-amz-signature|x-ignore-.*)$/

/** @param text in base64 @throws S3Error */
export function parsePolicy(text: string): Policy {
  const { expiration, conditions } = decode(text)
  const expiresAt = typeof expiration === 'string' && timePattern.test(expiration) ? Date.parse(expiration) : Number.NaN
  if (Number.isNaN(expiresAt)) throw invalid('its "expiration" must be a time such as "2026-11-22T12:00:00.000Z"')
  if (!Array.isArray(conditions) || conditions.length > maxConditions) {
    throw invalid(`its "conditions" must be a list of at most ${maxConditions}`)
  }
  const policy = { expiresAt, conditions: [] as Condition[], sizes: { min: 0, max: Number.MAX_SAFE_INTEGER } }
  for (const condition of conditions) {
    const sizes = parseSizes(condition)
    if (sizes) policy.sizes = { min: Math.max(policy.sizes.min, sizes.min), max: Math.min(policy.sizes.max, sizes.max) }
    else policy.conditions.push(...parseCondition(condition))
  }
  return policy
}

/**
 * Requires that all conditions hold, and that there is one for every field.
 * @param fields by their names in lowercase, with the bucket as one of them
 * @param now milliseconds since 1970
 * @throws S3Error
 */
export function requireAllowed(
  { expiresAt, conditions }: Policy,
  fields: ReadonlyMap<string, string>,
  now: number,
): void {
  if (now > expiresAt) throw denied('The policy of the form has expired: ask for a new form.')
  for (const { kind, field, value } of conditions) {
    const given = fields.get(field) ?? ''
    const holds = kind === 'eq' ? given === value : given.startsWith(value)
    if (!holds) throw denied(`The policy of the form does not allow this value of the field "${field}".`)
  }
  const covered = new Set(conditions.map(({ field }) => field))
  for (const name of fields.keys()) {
    if (covered.has(name) || uncovered.test(name)) continue
    throw denied(`The policy of the form has no condition for the field "${name}".`)
  }
}

function decode(base64: string): { expiration?: unknown; conditions?: unknown } {
  const parsed = parseJson(Buffer.from(base64, 'base64'))
  if (typeof parsed === 'object' && parsed !== null) return parsed
  throw invalid('it must be a JSON object in base64')
}

/** Returns null for any other condition. @throws S3Error */
function parseSizes(condition: unknown): SizeRange | null {
  if (!Array.isArray(condition) || operatorOf(condition) !== 'content-length-range') return null
  const [min, max] = [condition[1], condition[2]].map(Number)
  const isRange = [min, max].every(size => Number.isSafeInteger(size) && Number(size) >= 0)
  if (condition.length === 3 && isRange && Number(min) <= Number(max)) return { min: Number(min), max: Number(max) }
  throw invalid('a "content-length-range" has the smallest and the largest size')
}

/** @throws S3Error */
function parseCondition(condition: unknown): Condition[] {
  if (Array.isArray(condition)) {
    const [operator, name, value] = [operatorOf(condition), condition[1], condition[2]]
    const isKnown = operator === 'eq' || operator === 'starts-with'
    if (isKnown && typeof name === 'string' && name.startsWith('$') && typeof value === 'string') {
      return [{ kind: operator, field: name.slice(1).toLowerCase(), value }]
    }
  } else if (typeof condition === 'object' && condition !== null) {
    const pairs = Object.entries(condition)
    if (pairs.length > 0 && pairs.every(([, value]) => typeof value === 'string')) {
      return pairs.map(([name, value]) => ({ kind: 'eq', field: name.toLowerCase(), value }))
    }
  }
  throw invalid('a condition has the form {"<field>": "<value>"}, or ["eq" or "starts-with", "$<field>", "<value>"]')
}

function operatorOf(condition: readonly unknown[]): string {
  return String(condition[0]).toLowerCase()
}

function invalid(why: string): S3Error {
  return new S3Error('InvalidPolicyDocument', `The policy of the form is malformed: ${why}.`)
}

function denied(message: string): S3Error {
  return new S3Error('AccessDenied', message)
}
