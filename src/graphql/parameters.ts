import { isUtf8 } from 'node:buffer'
import { AppError } from '../errors.ts'

/** GraphQL over HTTP, section 5.1. */
export interface Parameters {
  query: string
  operationName: string | null
  variables: Record<string, unknown> | null
}

/** Of the variables: deeper than any configuration, and shallower than any stack that walks through them. */
const maxDepth = 100
/** Of the variables, with those inside of others: three times what the longest list of restrictions has. */
const maxValues = 10_000

/** Of a POST body, which is one JSON object: there is no batching. @throws INVALID_INPUT */
export function parseBody(body: Buffer): Parameters {
  if (!isUtf8(body)) throw invalid('The body is JSON in UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch {
    throw invalid('The body is not well-formed JSON.')
  }
  if (!isMap(value)) throw invalid('The body is one JSON object with a "query"; several in a list are not taken.')
  return checkParameters(value)
}

/** Of a GET, where maps are JSON text. @throws INVALID_INPUT */
export function parseQueryString(search: URLSearchParams): Parameters {
  const given: Record<string, unknown> = {}
  for (const name of ['query', 'operationName', 'variables', 'extensions']) {
    const [text, another] = search.getAll(name)
    if (another !== undefined) throw invalid(`"${name}" is given twice.`)
    if (text === undefined || text === '') continue
    given[name] = name === 'variables' || name === 'extensions' ? parseMap(name, text) : text
  }
  return checkParameters(given)
}

function checkParameters({ query, operationName, variables, extensions }: Record<string, unknown>): Parameters {
  if (typeof query !== 'string') throw invalid('"query" is a GraphQL document as a string.')
  if (operationName != null && typeof operationName !== 'string') throw invalid('"operationName" is a string.')
  if (variables != null && !isMap(variables)) throw invalid('"variables" is a JSON object.')
  requireSmall(variables)
  if (extensions != null && !isMap(extensions)) throw invalid('"extensions" is a JSON object.')
  return { query, operationName: operationName ?? null, variables: variables ?? null }
}

function parseMap(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid(`"${name}" is a JSON object, as text.`)
  }
}

/** Before anything looks at the values: what is wrong with each costs far more than to count it. @throws INVALID_INPUT */
function requireSmall(variables: unknown): void {
  let values = 0
  const count = (value: unknown, levels: number) => {
    if (typeof value !== 'object' || value === null) return
    if (levels === 0) throw invalid(`"variables" is at most ${maxDepth} levels deep.`)
    for (const each of Object.values(value)) {
      values += 1
      if (values > maxValues) throw invalid(`"variables" holds at most ${maxValues} values, in lists and objects.`)
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
