import { isUtf8 } from 'node:buffer'
import { AppError } from '../errors.ts'

/** GraphQL over HTTP, section 5.1. */
export interface Parameters {
  query: string
  operationName: string | null
  variables: Record<string, unknown> | null
}

/**
 * The maximum number of levels of the variables: more than any configuration has, and few enough for recursive code.
 */
const maxDepth = 100
/**
 * The maximum number of values in the variables, nested ones included: three times as many as the longest list of
 * restrictions has.
 */
const maxValues = 10_000

/** Parses a POST body, which is one JSON object; batches are not supported. @throws INVALID_INPUT */
export function parseBody(body: Buffer): Parameters {
  if (!isUtf8(body)) throw invalid('The body must be JSON in UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch {
    throw invalid('The body is not well-formed JSON.')
  }
  if (!isMap(value)) throw invalid('The body must be one JSON object with a "query". Batches are not supported.')
  return checkParameters(value)
}

/** Parses the query string of a GET, where maps are JSON text. @throws INVALID_INPUT */
export function parseQueryString(search: URLSearchParams): Parameters {
  const parameters: Record<string, unknown> = {}
  for (const name of ['query', 'operationName', 'variables', 'extensions']) {
    const [text, another] = search.getAll(name)
    if (another !== undefined) throw invalid(`"${name}" appears twice.`)
    if (text === undefined || text === '') continue
    parameters[name] = name === 'variables' || name === 'extensions' ? parseMap(name, text) : text
  }
  return checkParameters(parameters)
}

function checkParameters({ query, operationName, variables, extensions }: Record<string, unknown>): Parameters {
  if (typeof query !== 'string') throw invalid('"query" must be a string with a GraphQL document.')
  if (operationName != null && typeof operationName !== 'string') throw invalid('"operationName" must be a string.')
  if (variables != null && !isMap(variables)) throw invalid('"variables" must be a JSON object.')
  requireSmall(variables)
  if (extensions != null && !isMap(extensions)) throw invalid('"extensions" must be a JSON object.')
  return { query, operationName: operationName ?? null, variables: variables ?? null }
}

function parseMap(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid(`"${name}" must be the text of a JSON object.`)
  }
}

/** Counts the values before they are validated, because validating each costs far more. @throws INVALID_INPUT */
function requireSmall(variables: unknown): void {
  let values = 0
  const count = (value: unknown, levels: number) => {
    if (typeof value !== 'object' || value === null) return
    if (levels === 0) throw invalid(`"variables" can be at most ${maxDepth} levels deep.`)
    for (const each of Object.values(value)) {
      values += 1
      if (values > maxValues)
        throw invalid(`"variables" can have at most ${maxValues} values, including those in lists and objects.`)
      count(each, levels - 1)
    }
  }
  count(variables, maxDepth)
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(message: string): AppError {
  return new AppError('INVALID_INPUT', message)
}
