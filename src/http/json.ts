/** Parses JSON from clients. The number of values is bounded first, because a value costs far more than its bytes. */
import { isUtf8 } from 'node:buffer'
import { AppError } from '../errors.ts'
import { yieldToOthers } from '../lib/event-loop.ts'

/** The maximum number of values, nested ones included: twice as many as the longest input that any operation accepts. */
const maxValues = 20_000
/** The maximum number of levels: more than any configuration has, and few enough for recursive code. */
const maxDepth = 128
/** Bytes of a body that is parsed at once. Longer ones take turns. */
const short = 16 * 1024

/** Parses a body. Returns undefined for anything but JSON in UTF-8. @throws INVALID_INPUT for too many values or levels */
export async function parseJsonBody(body: Buffer, values = maxValues): Promise<unknown> {
  if (body.length > short) await yieldToOthers()
  return parseJson(body, values)
}

/** Parses a text of bounded length. Returns undefined for anything but JSON in UTF-8. @throws as `parseJsonBody` */
export function parseJson(bytes: Buffer, values = maxValues): unknown {
  if (!isUtf8(bytes)) return undefined
  requireFewValues(bytes, values)
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
/** `[` and `{`, which differ in the bit 0x20, as `]` and `}` do. */
const open = 0x7b
const close = 0x7d

/** Each value but the first follows a comma or the beginning of a list or an object. @throws INVALID_INPUT */
function requireFewValues(bytes: Buffer, most: number): void {
  let values = 1
  let depth = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === quote) {
      at += 1
      while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
    } else if (byte === comma) values += 1
    else if ((byte | 0x20) === open) {
      values += 1
      depth += 1
      if (depth > maxDepth) throw new AppError('INVALID_INPUT', `The JSON can be at most ${maxDepth} levels deep.`)
    } else if ((byte | 0x20) === close) depth -= 1
    if (values > most) throw new AppError('INVALID_INPUT', `The JSON can have at most ${most} values.`)
  }
}
