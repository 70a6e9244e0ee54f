/** The part of JSON Schema (draft-07) that forms are drawn from; the server checks all of it. */

export type Config = Record<string, unknown>
export type Value = string | boolean

export interface ConfigField {
  name: string
  kind: 'text' | 'number' | 'switch' | 'choice' | 'json'
  title: string
  help: string | null
  isRequired: boolean
  isSecret: boolean
  /** Whether stored secrets stay good when it changes. */
  keepsSecrets: boolean
  /** What the server fills in where nothing is given. */
  preset: unknown
  choices: readonly string[]
  /** Whether most people leave it as it is. */
  isAdvanced: boolean
}

const advancedMark = /^Advanced\b[:,]?\s*/

export function readSchema(schema: unknown): ConfigField[] {
  const { properties, required } = isObject(schema) ? schema : {}
  if (!isObject(properties)) return []
  const requiredNames = new Set(Array.isArray(required) ? required.map(String) : [])
  const fields = Object.entries(properties).map(([name, property]) =>
    readField(name, isObject(property) ? property : {}, requiredNames.has(name)),
  )
  // Texts that say it themselves know best; where nothing is required, something optional is what matters.
  const saysItself = fields.some(field => advancedMark.test(field.help ?? ''))
  return fields.map(field => ({
    ...field,
    help: field.help && capitalise(field.help.replace(advancedMark, '')),
    isAdvanced: saysItself ? advancedMark.test(field.help ?? '') : requiredNames.size > 0 && !field.isRequired,
  }))
}

function readField(name: string, property: Record<string, unknown>, isRequired: boolean): ConfigField {
  const choices = Array.isArray(property.enum) ? property.enum.map(String) : []
  return {
    name,
    kind: choices.length > 0 ? 'choice' : kindOf(property.type),
    title: typeof property.title === 'string' ? property.title : name,
    help: typeof property.description === 'string' ? property.description : null,
    isRequired,
    isSecret: property.writeOnly === true,
    keepsSecrets: property.keepsSecrets === true,
    preset: property.default,
    choices,
    isAdvanced: false,
  }
}

function kindOf(type: unknown): ConfigField['kind'] {
  if (type === 'boolean') return 'switch'
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'string' || type === undefined ? 'text' : 'json'
}

/** What the form begins with: what is stored, or else the defaults. */
export function startValues(fields: readonly ConfigField[], stored: Config = {}): Record<string, Value> {
  return Object.fromEntries(fields.map(field => [field.name, shown(field, stored[field.name] ?? field.preset)]))
}

function shown(field: ConfigField, value: unknown): Value {
  if (field.kind === 'switch') return value === true
  if (value === undefined || value === null) return ''
  return field.kind === 'json' ? JSON.stringify(value) : String(value)
}

/** A new configuration: what stays empty is left out. */
export function toConfig(fields: readonly ConfigField[], values: Record<string, Value>): Config {
  const given = fields.map(field => [field.name, meant(field, values[field.name] ?? '')] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

/** What differs from what is stored: null takes something away, secrets that stay empty stay as they are. */
export function toChanges(fields: readonly ConfigField[], values: Record<string, Value>, stored: Config): Config {
  const start = startValues(fields, stored)
  const changed = fields.filter(({ name }) => values[name] !== start[name])
  return Object.fromEntries(changed.map(field => [field.name, meant(field, values[field.name] ?? '') ?? null]))
}

/** What was changed, apart from secrets, so that the server asks for all secrets again. */
export function movedFields(
  fields: readonly ConfigField[],
  values: Record<string, Value>,
  stored: Config,
): readonly ConfigField[] {
  const changes = toChanges(fields, values, stored)
  return fields.filter(({ name, isSecret, keepsSecrets }) => !isSecret && !keepsSecrets && Object.hasOwn(changes, name))
}

/** What cannot be read as its kind goes to the server as it is, which says what does not fit. */
function meant(field: ConfigField, value: Value): unknown {
  if (typeof value === 'boolean') return value
  if (value === '') return undefined
  if (field.kind === 'number') return Number.isNaN(Number(value)) ? value : Number(value)
  if (field.kind !== 'json') return field.isSecret ? value : value.trim()
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function capitalise(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
