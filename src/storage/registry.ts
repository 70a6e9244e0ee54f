import { type AdapterDefinition, apiVersion } from '../../adapters/contract.ts'
import { type ConfigRules, configRules } from './config.ts'

/** An adapter that this server can use. */
export interface Adapter {
  definition: AdapterDefinition
  builtIn: boolean
  rules: ConfigRules
}

export interface AdapterRegistry {
  find(type: string): Adapter | null
  list(): Adapter[]
}

const typePattern = /^[a-z0-9-]{1,64}$/

/**
 * Built-in adapters and those of the named packages, which export an `AdapterDefinition` as default. A package that
 * cannot be used is reported and left out: the server starts without it.
 */
export async function loadAdapters(options: {
  builtIn: readonly AdapterDefinition[]
  packages: readonly string[]
  warn: (message: string, error?: unknown) => void
}): Promise<AdapterRegistry> {
  const adapters = new Map<string, Adapter>()
  for (const definition of options.builtIn) adapters.set(definition.type, toAdapter(definition, true))
  for (const name of options.packages) {
    try {
      const module: { default?: unknown } = await import(name)
      const adapter = toAdapter(parseDefinition(module.default), false)
      if (adapters.has(adapter.definition.type)) {
        throw new Error(`the type "${adapter.definition.type}" is taken by another adapter`)
      }
      adapters.set(adapter.definition.type, adapter)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      options.warn(`The adapter package "${name}" (STOWAGE_ADAPTERS) is left out: ${why}.`, error)
    }
  }
  return { find: type => adapters.get(type) ?? null, list: () => [...adapters.values()] }
}

function toAdapter(definition: AdapterDefinition, builtIn: boolean): Adapter {
  return { definition, builtIn, rules: configRules(definition.configSchema) }
}

function parseDefinition(value: unknown): AdapterDefinition {
  const definition = value as Partial<AdapterDefinition> | null | undefined
  if (typeof definition !== 'object' || definition === null) throw new Error('it has no default export')
  if (definition.apiVersion !== apiVersion) {
    throw new Error(
      `it is written for version ${definition.apiVersion} of the adapter API, this server has ${apiVersion}`,
    )
  }
  if (typeof definition.type !== 'string' || !typePattern.test(definition.type))
    throw new Error('its type is malformed')
  if (typeof definition.title !== 'string') throw new Error('it has no title')
  if (typeof definition.open !== 'function') throw new Error('it has no open function')
  if (definition.configSchema?.type !== 'object') throw new Error('its configSchema does not describe an object')
  return definition as AdapterDefinition
}
