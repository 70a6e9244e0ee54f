import { AppError } from '../errors.ts'
import { splitUrl } from './url.ts'

/**
 * Parses the query of a URL as `application/x-www-form-urlencoded`: percent-encoded UTF-8, with "+" for a space.
 * @param parameters the descriptions of the parameters by their names
 * @throws INVALID_INPUT if a parameter is unknown, repeated or cannot be decoded
 */
export function parseQuery<Name extends string>(
  url: string,
  parameters: Readonly<Record<Name, unknown>>,
): { [N in Name]?: string } {
  const names = Object.keys(parameters) as Name[]
  const query: { [N in Name]?: string } = {}
  for (const pair of splitUrl(url)[1].split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const [rawName, rawValue] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    const decoded = decode(rawName)
    const name = names.find(known => known === decoded)
    if (name === undefined)
      throw invalid(`This endpoint has no query parameter ${quoteName(decoded)}, only ${names.join(', ')}.`)
    if (query[name] !== undefined) throw invalid(`The query parameter "${name}" appears more than once.`)
    query[name] = decode(rawValue)
  }
  return query
}

/** @throws INVALID_INPUT */
export function requireParameter(value: string | undefined, name: string): string {
  if (value === undefined || value === '') throw invalid(`The query parameter "${name}" is missing.`)
  return value
}

/** Quotes a name for a message. Messages are logged, so the name appears only if it is a short word: other text may be a credential. */
export function quoteName(name: string): string {
  return /^\w{1,20}$/.test(name) ? `"${name}"` : 'of this name'
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalid('The query is malformed: its percent-encoding is not UTF-8.')
  }
}

function invalid(message: string): AppError {
  return new AppError('INVALID_INPUT', message)
}
