import { ApiError } from './errors.ts'

/** A mask for partial responses: `nextPageToken,files(id,owners/emailAddress)`. Null selects all fields. */
export type Mask = Map<string, Mask> | null

/** @throws 400 invalidParameter */
export function parseMask(source: string): Mask {
  let position = 0
  const fail = () => new ApiError(400, 'invalidParameter', `Invalid field selection ${source}`, { location: 'fields' })

  function parseList(): Mask {
    let mask: Mask = new Map()
    for (;;) {
      const item = /^[A-Za-z0-9]+|^\*/.exec(source.slice(position))
      if (!item) throw fail()
      position += item[0].length
      const below = parseBelow()
      if (item[0] === '*') mask = null
      else mask?.set(item[0], below)
      if (source[position] !== ',') return mask
      position += 1
    }
  }

  function parseBelow(): Mask {
    if (source[position] === '(') {
      position += 1
      const inner = parseList()
      if (source[position] !== ')') throw fail()
      position += 1
      return inner
    }
    if (source[position] !== '/') return null
    position += 1
    const item = /^[A-Za-z0-9]+|^\*/.exec(source.slice(position))
    if (!item) throw fail()
    position += item[0].length
    return item[0] === '*' ? null : new Map([[item[0], parseBelow()]])
  }

  const mask = parseList()
  if (position !== source.length) throw fail()
  return mask
}

/** @param known all existing fields, so that unknown ones are refused */
export function checkMask(mask: Mask, known: readonly string[], source: string): void {
  for (const name of mask?.keys() ?? []) {
    if (!known.includes(name)) {
      throw new ApiError(400, 'invalidParameter', `Invalid field selection ${name}`, { location: source })
    }
  }
}

export function applyMask(value: unknown, mask: Mask): unknown {
  if (mask === null || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => applyMask(item, mask))
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      const below = mask.get(name)
      return below === undefined ? [] : [[name, applyMask(item, below)]]
    }),
  )
}
