/** Reads what a schema says about choices and instructions: see `ConfigSchema` of the adapter contract. */

export interface SetupStep {
  text: string
  link: { title: string; url: string } | null
  showsRedirectAddress: boolean
}

export interface ConfigOption {
  title: string
  description: string | null
  properties: readonly string[]
  required: readonly string[]
  /** The values of the properties that store the choice. */
  values: Readonly<Record<string, unknown>>
  steps: readonly SetupStep[]
}

export interface ConfigChoice {
  title: string
  options: readonly ConfigOption[]
}

export function readSteps(schema: unknown): SetupStep[] {
  if (!isObject(schema)) return []
  return objectsIn(schema.steps).map(({ text, link, showsRedirectAddress }) => ({
    text: String(text),
    link: isObject(link) && isSafe(link.url) ? { title: String(link.title), url: String(link.url) } : null,
    showsRedirectAddress: showsRedirectAddress === true,
  }))
}

export function readChoices(schema: unknown): ConfigChoice[] {
  if (!isObject(schema)) return []
  return objectsIn(schema.choices).map(({ title, options }) => ({
    title: String(title),
    options: objectsIn(options).map(option => ({
      title: String(option.title),
      description: typeof option.description === 'string' ? option.description : null,
      properties: textsIn(option.properties),
      required: textsIn(option.required),
      values: isObject(option.values) ? option.values : {},
      steps: readSteps(option),
    })),
  }))
}

/** Only pages that can be trusted to be what they say become links. */
function isSafe(url: unknown): boolean {
  return typeof url === 'string' && url.startsWith('https://')
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
