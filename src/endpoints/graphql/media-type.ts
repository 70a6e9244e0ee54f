/** GraphQL over HTTP, section 4. */
export const responseMediaType = 'application/graphql-response+json'
const legacyMediaType = 'application/json'
const eventStream = 'text/event-stream'

export type MediaType = typeof responseMediaType | typeof legacyMediaType

/**
 * Returns the media type that the Accept header prefers. It is `application/json` if the header names neither type, even
 * if it allows only others, because the body says more than a 406 would.
 */
export function negotiate(accept: string | undefined): MediaType {
  if (accept === undefined || accept === '*/*') return legacyMediaType
  const weight = quality(accept, responseMediaType)
  return weight > 0 && weight >= quality(accept, legacyMediaType) ? responseMediaType : legacyMediaType
}

/** Returns whether the Accept header names event streams. */
export function acceptsEvents(accept: string | undefined): boolean {
  return accept !== undefined && quality(accept, eventStream) > 0
}

/** Returns whether the Accept header prefers event streams, even for operations with one response. */
export function prefersEvents(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const others = [responseMediaType, legacyMediaType, '*/*'].map(type => quality(accept, type))
  return quality(accept, eventStream) > Math.max(...others)
}

/** Returns the weight (RFC 9110, section 12.4.2), or 0 if the header does not name the type. */
function quality(accept: string, type: string): number {
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    if (name !== type) continue
    const weight = parameters.find(parameter => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0
  }
  return 0
}
