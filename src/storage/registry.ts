import { inspect } from 'node:util'
import { type AdapterDefinition, apiVersion } from '../../adapters/contract.ts'
import { withTimeout } from '../lib/timeout.ts'
import { type ConfigRules, configRules } from './config.ts'
import { checkForm } from './config-form.ts'

/** A loaded adapter. */
export interface Adapter {
  definition: AdapterDefinition
  builtIn: boolean
  rules: ConfigRules
}

export interface AdapterRegistry {
  find(type: string): Adapter | null
  list(): Adapter[]
}

/** Milliseconds. */
const defaultLoadTimeout = 30_000

const typePattern = /^[a-z0-9-]{1,64}$/

/**
 * Loads the built-in adapters and those of the named packages, which export an `AdapterDefinition` as default. Skips a package
 * that cannot be used, with a warning that says why, so that the server starts without it.
 */
export async function loadAdapters(options: {
  builtIn: readonly AdapterDefinition[]
  packages: readonly string[]
  warn: (message: string, error?: unknown) => void
  /** Milliseconds for a package to load. */
  loadTimeout?: number
}): Promise<AdapterRegistry> {
  const { loadTimeout = defaultLoadTimeout } = options
  const adapters = new Map<string, Adapter>()
  for (const definition of options.builtIn) adapters.set(definition.type, builtInAdapter(definition))
  for (const name of options.packages) {
    try {
      const adapter = await loadAdapter(name, loadTimeout)
      if (adapters.has(adapter.definition.type)) {
        throw new Error(`the type "${adapter.definition.type}" is taken by another adapter`)
      }
      adapters.set(adapter.definition.type, adapter)
    } catch (error) {
      options.warn(`The adapter package "${name}" (STOWAGE_ADAPTERS) was skipped: ${reasonIn(error)}.`, error)
    }
  }
  return { find: type => adapters.get(type) ?? null, list: () => [...adapters.values()] }
}

/**
 * Loads the adapter of a package or of the URL of a module.
 * @param timeout milliseconds
 * @throws anything; `reasonIn` says why in one line
 */
export async function loadAdapter(name: string, timeout = defaultLoadTimeout): Promise<Adapter> {
  const definition = parseDefinition(await load(name, timeout))
  return { definition, builtIn: false, rules: rulesOf(definition) }
}

/** Returns the default export. The timeout is for a module that never ends its top-level `await`. */
async function load(name: string, timeout: number): Promise<unknown> {
  const makeError = () => new Error(`it has not loaded within ${timeout / 1000} seconds`)
  const module: { default?: unknown } = await withTimeout(import(name), timeout, makeError)
  return module.default
}

/** Returns the first line of the error's message, without the final period. */
export function reasonIn(error: unknown): string {
  const text = error instanceof Error ? error.message : undefined
  // `String` throws for objects without a prototype; `inspect` never does.
  const message =
    typeof text === 'string' && text !== '' ? text : `it throws ${inspect(error, { customInspect: false })}`
  const [line = ''] = message.split('\n', 1)
  let end = line.length
  while (end > 0 && /[\s.:]/.test(line.charAt(end - 1))) end--
  return line.slice(0, end)
}

/** Compiles the rules when they are first needed, because most servers use few of the built-in adapters. */
export function builtInAdapter(definition: AdapterDefinition): Adapter {
  let rules: ConfigRules | undefined
  return {
    definition,
    builtIn: true,
    get rules() {
      rules ??= rulesOf(definition)
      return rules
    },
  }
}

function rulesOf({ configSchema }: AdapterDefinition): ConfigRules {
  try {
    checkForm(configSchema)
    return configRules(configSchema)
  } catch (cause) {
    throw new Error(`its configSchema cannot be used: ${reasonIn(cause)}`, { cause })
  }
}

function parseDefinition(value: unknown): AdapterDefinition {
  const definition = value as Partial<AdapterDefinition> | null | undefined
  if (typeof definition !== 'object' || definition === null) {
    throw new Error('it has no adapter as its default export (export default)')
  }
  if (definition.apiVersion !== apiVersion) {
    throw new Error(
      `it is written for version ${definition.apiVersion} of the adapter API, this server has ${apiVersion}`,
    )
  }
  if (typeof definition.type !== 'string' || !typePattern.test(definition.type))
    throw new Error('its type is malformed: 1 to 64 of a-z, 0-9 and "-"')
  if (typeof definition.title !== 'string') throw new Error('it has no title')
  if (typeof definition.open !== 'function') throw new Error('it has no open function')
  const { configSchema, oauth, group } = definition
  if (group !== undefined && !['server', 'account', 'remote'].includes(group)) {
    throw new Error('its group is not one of server, account and remote')
  }
  if (configSchema?.type !== 'object' || typeof configSchema.properties !== 'object' || !configSchema.properties)
    throw new Error('its configSchema does not describe an object with properties')
  // The validator of such a schema returns a promise, which is always truthy.
  if ('$async' in configSchema) throw new Error('its configSchema is asynchronous')
  for (const name of ['authorizeUrl', 'exchange', 'refresh'] as const) {
    if (oauth && typeof oauth[name] !== 'function') throw new Error(`its oauth has no ${name} function`)
  }
  return definition as AdapterDefinition
}
