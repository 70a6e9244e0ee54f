import { AppError } from '../../errors.ts'
import { parseJson } from '../../http/json.ts'

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

/** Checks a POST body, which is one JSON object; batches are not supported. @throws INVALID_INPUT */
export function checkParameters(value: unknown): Parameters {
  if (value === undefined) throw invalid('The body is not well-formed JSON in UTF-8.')
  if (!isMap(value)) throw invalid('The body must be one JSON object with a "query". Batches are not supported.')
  const { query, operationName, variables, extensions } = value
  if (typeof query !== 'string') throw invalid('"query" must be a string with a GraphQL document.')
  if (operationName != null && typeof operationName !== 'string') throw invalid('"operationName" must be a string.')
  if (variables != null && !isMap(variables)) throw invalid('"variables" must be a JSON object.')
  requireBounded(variables)
  if (extensions != null && !isMap(extensions)) throw invalid('"extensions" must be a JSON object.')
  return { query, operationName: operationName ?? null, variables: variables ?? null }
}

function parseMap(name: string, text: string): unknown {
  const value = parseJson(Buffer.from(text))
  if (value === undefined) throw invalid(`"${name}" must be the text of a JSON object.`)
  return value
}

/** Counts the values before they are validated, because validating each costs far more. @throws INVALID_INPUT */
function requireBounded(variables: unknown): void {
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
