import { isDeepStrictEqual } from 'node:util'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import type { ConfigSchema } from '../../adapters/contract.ts'
import { AppError } from '../errors.ts'

/** The maximum number of problems in one message. */
const maxProblems = 10
/** The maximum number of characters of an unknown property's name in a message. */
const maxName = 100
/** Characters of a secret. The longest in practice, a private key with its certificates, has a third of this. */
const maxSecret = 32_768

export type Config = Record<string, unknown>

/** A provider's configuration, divided into what clients may see and what they may not. */
export interface SplitConfig {
  open: Config
  secret: Config
}

export interface ConfigRules {
  /** Validates a configuration and adds its defaults. @throws INVALID_CONFIG naming each invalid property */
  parse(config: unknown): Config
  split(config: Config): SplitConfig
  /**
   * Returns the names of changed properties without `keepsSecrets` (see the contract). If there are any, the stored secrets may
   * belong to another account or server.
   */
  movedBy(before: Config, after: Config): string[]
}

/** Checks the schemas of all adapters, because each instance takes long to compile the schema of schemas. */
const checker = new Ajv({ strict: false })

/** @throws Error if the schema itself is malformed, which is a fault of the adapter */
export function configRules(schema: ConfigSchema): ConfigRules {
  checker.validateSchema(schema, true)
  // Each adapter has its own validator: two schemas may have the same `$id`.
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false, validateSchema: false })
  formats.default(ajv)
  const validate: ValidateFunction<Config> = ajv.compile({ ...schema, additionalProperties: false })
  const hasKeyword = (name: string, keyword: 'writeOnly' | 'keepsSecrets') =>
    (schema.properties[name] as Record<string, unknown> | undefined)?.[keyword] === true
  const isSecret = (name: string) => hasKeyword(name, 'writeOnly')
  const withDefaults = (config: Config) => {
    const copy = structuredClone(config)
    validate(copy)
    return copy
  }
  const pick = (config: Config, isPicked: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(config).filter(([name]) => isPicked(name)))
  return {
    parse(config) {
      if (typeof config !== 'object' || config === null || Array.isArray(config)) {
        throw new AppError('INVALID_CONFIG', 'The configuration must be a JSON object.')
      }
      const copy = structuredClone(config)
      if (!validate(copy)) {
        const errors = validate.errors ?? []
        const problems = errors.slice(0, maxProblems).map(problem)
        const more = errors.length > maxProblems ? `; and ${errors.length - maxProblems} more` : ''
        throw new AppError(
          'INVALID_CONFIG',
          `The configuration is invalid: ${problems.map(p => p.message).join('; ')}${more}.`,
          {
            facts: { properties: [...new Set(problems.map(p => p.property))] },
          },
        )
      }
      const long = Object.entries(copy).find(([name, value]) => isSecret(name) && sizeOf(value) > maxSecret)
      if (long) throw new AppError('INVALID_CONFIG', `"${long[0]}" can have at most ${maxSecret} characters.`)
      return copy
    },
    movedBy(before, after) {
      const [previous, next] = [withDefaults(before), withDefaults(after)]
      const names = [...new Set([...Object.keys(previous), ...Object.keys(next)])]
      return names.filter(name => !hasKeyword(name, 'keepsSecrets') && !isDeepStrictEqual(previous[name], next[name]))
    },
    split: config => ({ open: pick(config, name => !isSecret(name)), secret: pick(config, isSecret) }),
  }
}

function sizeOf(value: unknown): number {
  return typeof value === 'string' ? value.length : JSON.stringify(value).length
}

function problem(error: ErrorObject): { property: string; message: string } {
  const inside = error.instancePath.slice(1).replaceAll('/', '.')
  const { missingProperty, additionalProperty }: { missingProperty?: unknown; additionalProperty?: unknown } =
    error.params
  const named = missingProperty ?? additionalProperty
  if (typeof named === 'string') {
    const name = named.slice(0, maxName)
    const property = inside ? `${inside}.${name}` : name
    return error.keyword === 'required'
      ? { property, message: `"${property}" is missing` }
      : { property, message: `"${property}" is not a property of this type` }
  }
  return { property: inside, message: `"${inside}" ${error.message}` }
}
