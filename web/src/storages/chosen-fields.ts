/** Which fields of a form the chosen options show, and what they send. */
import { type ConfigChoice, type ConfigOption, readSteps, type SetupStep } from './config-choices.ts'
import type { ConfigField, FieldValue } from './config-schema.ts'

/** The index of the chosen option of each choice. Null where the stored configuration does not tell it, because secrets do. */
export type Chosen = readonly (number | null)[]

/** Returns the options that a stored configuration has; the first ones for a new one. */
export function initialChosen(
  choices: readonly ConfigChoice[],
  fields: readonly ConfigField[],
  stored: Record<string, unknown> | undefined,
): Chosen {
  if (!stored) return choices.map(() => 0)
  const differs = ({ name, defaultValue }: ConfigField) => stored[name] !== undefined && stored[name] !== defaultValue
  const open = fields.filter(({ isSecret }) => !isSecret)
  return choices.map(({ options }) => {
    const all = new Set(options.flatMap(({ properties }) => properties))
    const possible = options.flatMap(({ values, properties, required }, index) => {
      const isRefuted =
        Object.entries(values).some(([name, value]) => stored[name] !== undefined && stored[name] !== value) ||
        open.some(field => required.includes(field.name) && stored[field.name] === undefined) ||
        open.some(field => all.has(field.name) && !properties.includes(field.name) && differs(field))
      return isRefuted ? [] : [index]
    })
    const [only, ...others] = possible
    return only !== undefined && others.length === 0 ? only : null
  })
}

/** Returns the fields of the chosen options and those that belong to none. */
export function visibleFields(
  fields: readonly ConfigField[],
  choices: readonly ConfigChoice[],
  chosen: Chosen,
): ConfigField[] {
  const hidden = hiddenNames(choices, chosen)
  const required = new Set(optionsIn(choices, chosen).flatMap(option => option.required))
  return fields
    .filter(({ name }) => !hidden.has(name))
    .map(field => (required.has(field.name) ? { ...field, isRequired: true } : field))
}

/** Returns the values as the chosen options have them: without those of other options. */
export function chosenValues(
  fields: readonly ConfigField[],
  values: Record<string, FieldValue>,
  choices: readonly ConfigChoice[],
  chosen: Chosen,
): Record<string, FieldValue> {
  const stated = Object.assign({}, ...optionsIn(choices, chosen).map(option => option.values))
  const hidden = hiddenNames(choices, chosen)
  const unused = ({ kind, defaultValue = '' }: ConfigField) =>
    kind === 'switch' ? defaultValue === true : String(defaultValue)
  const entries = fields.map(field => {
    const { name, kind } = field
    if (Object.hasOwn(stated, name)) return [name, kind === 'switch' ? stated[name] === true : String(stated[name])]
    return [name, hidden.has(name) ? unused(field) : (values[name] ?? '')]
  })
  return Object.fromEntries(entries)
}

/** Returns the steps of the type and those of the chosen options. */
export function chosenSteps(schema: unknown, choices: readonly ConfigChoice[], chosen: Chosen): SetupStep[] {
  return [...readSteps(schema), ...optionsIn(choices, chosen).flatMap(({ steps }) => steps)]
}

/** Returns the secrets that only options have which are not chosen any more. */
export function unchosenSecrets(
  fields: readonly ConfigField[],
  choices: readonly ConfigChoice[],
  { before, now }: { before: Chosen; now: Chosen },
): string[] {
  const changed = choices.filter((_, index) => before[index] !== now[index])
  const chosen = now.filter((_, index) => before[index] !== now[index])
  const hidden = hiddenNames(changed, chosen)
  return fields.filter(({ name, isSecret }) => isSecret && hidden.has(name)).map(({ name }) => name)
}

function optionsIn(choices: readonly ConfigChoice[], chosen: Chosen): ConfigOption[] {
  return choices.flatMap(({ options }, index) => options[chosen[index] ?? -1] ?? [])
}

/** Returns the properties of other options, and those that store the choice. */
function hiddenNames(choices: readonly ConfigChoice[], chosen: Chosen): Set<string> {
  const names = choices.flatMap(({ options }, index) => {
    const option = options[chosen[index] ?? -1]
    const stored = options.flatMap(({ values }) => Object.keys(values))
    if (!option) return stored
    const others = options.flatMap(({ properties }) => properties).filter(name => !option.properties.includes(name))
    return [...stored, ...others]
  })
  return new Set(names)
}
