/** Reads the part of JSON Schema (draft-07) that forms are built from. The server validates the complete schema. */
import { isObject, readChoices } from './config-choices.ts'

export type Config = Record<string, unknown>
export type FieldValue = string | boolean

export interface ConfigField {
  name: string
  kind: 'text' | 'number' | 'switch' | 'choice' | 'json'
  title: string
  help: string | null
  isRequired: boolean
  isSecret: boolean
  /** Whether the stored secrets stay valid when this field changes. */
  keepsSecrets: boolean
  /** A regular expression that a text has to match; null if there is none. */
  pattern: string | null
  /** The value that the server fills in for an empty field. */
  defaultValue: unknown
  choices: readonly string[]
  /** Whether the text is a folder of the server, which people find in a list. */
  picksFolder: boolean
  /** Whether the form hides this field under “Advanced”. */
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
  const chosen = new Set(readChoices(schema).flatMap(({ options }) => options.flatMap(option => option.properties)))
  // If no description says "Advanced", all optional fields count as advanced, unless every field is optional. Those that belong to an
  // option of a choice never do.
  const isMarked = fields.some(field => advancedMark.test(field.help ?? ''))
  return fields.map(field => ({
    ...field,
    help: field.help && capitalize(field.help.replace(advancedMark, '')),
    isAdvanced: isMarked
      ? advancedMark.test(field.help ?? '')
      : requiredNames.size > 0 && !field.isRequired && !chosen.has(field.name),
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
    pattern: typeof property.pattern === 'string' ? property.pattern : null,
    defaultValue: property.default,
    choices,
    picksFolder: property.picksFolder === true,
    isAdvanced: false,
  }
}

function kindOf(type: unknown): ConfigField['kind'] {
  if (type === 'boolean') return 'switch'
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'string' || type === undefined ? 'text' : 'json'
}

/** Returns the initial values of a form: what is stored, or else the defaults. */
export function initialValues(fields: readonly ConfigField[], stored: Config = {}): Record<string, FieldValue> {
  return Object.fromEntries(fields.map(field => [field.name, format(field, stored[field.name] ?? field.defaultValue)]))
}

function format(field: ConfigField, value: unknown): FieldValue {
  if (field.kind === 'switch') return value === true
  if (value === undefined || value === null) return ''
  return field.kind === 'json' ? JSON.stringify(value) : String(value)
}

/** Returns a new configuration, without the fields that are empty. */
export function toConfig(fields: readonly ConfigField[], values: Record<string, FieldValue>): Config {
  const entries = fields.map(field => [field.name, parse(field, values[field.name] ?? '')] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** Returns the changed fields. Null removes a stored value; an empty secret keeps its stored value. */
export function toChanges(fields: readonly ConfigField[], values: Record<string, FieldValue>, stored: Config): Config {
  const initial = initialValues(fields, stored)
  const changed = fields.filter(({ name }) => values[name] !== initial[name])
  return Object.fromEntries(changed.map(field => [field.name, parse(field, values[field.name] ?? '') ?? null]))
}

/** Returns the changed fields that make the server require all secrets again. */
export function fieldsThatResetSecrets(
  fields: readonly ConfigField[],
  values: Record<string, FieldValue>,
  stored: Config,
): readonly ConfigField[] {
  const changes = toChanges(fields, values, stored)
  return fields.filter(({ name, isSecret, keepsSecrets }) => !isSecret && !keepsSecrets && Object.hasOwn(changes, name))
}

/** Parses a value by the kind of its field. A value that cannot be parsed is sent unchanged, so that the server rejects it. */
function parse(field: ConfigField, value: FieldValue): unknown {
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

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
