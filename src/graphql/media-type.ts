/** GraphQL over HTTP, section 4. */
export const responseMediaType = 'application/graphql-response+json'
const legacyMediaType = 'application/json'

export type MediaType = typeof responseMediaType | typeof legacyMediaType

/**
 * What a client that sends this Accept header prefers. `application/json` where it names neither, also where it takes
 * only others: the body says more than 406 would.
 */
export function negotiate(accept: string | undefined): MediaType {
  if (accept === undefined || accept === '*/*') return legacyMediaType
  const weight = quality(accept, responseMediaType)
  return weight > 0 && weight >= quality(accept, legacyMediaType) ? responseMediaType : legacyMediaType
}

/** RFC 9110, 12.4.2; 0 where the type is not named. */
function quality(accept: string, type: MediaType): number {
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    if (name !== type) continue
    const weight = parameters.find(parameter => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0
  }
  return 0
}
