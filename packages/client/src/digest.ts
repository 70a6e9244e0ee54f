/** A digest of content (RFC 9530). */
export interface Digest {
  algorithm: 'sha-256' | 'md5'
  base64: string
}

/** A member of a dictionary whose value is a byte sequence (RFC 9651). */
const member = /^([a-z0-9-]+)=:([A-Za-z0-9+/=]*):$/

/** Reads the strongest digest of the whole file; null if the server sent none. */
export function digestOf(headers: Headers): Digest | null {
  const items = (headers.get('repr-digest') ?? '').split(',').map(item => member.exec(item.trim()))
  const sent = new Map(items.flatMap(item => (item ? [[item[1], item[2] ?? '']] : [])))
  for (const algorithm of ['sha-256', 'md5'] as const) {
    const base64 = sent.get(algorithm)
    if (base64 !== undefined) return { algorithm, base64 }
  }
  return null
}
