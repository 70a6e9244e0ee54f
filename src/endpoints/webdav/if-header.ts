/** The If header: RFC 4918, section 10.4. */
import { AppError } from '../../errors.ts'

export interface IfCondition {
  isNegated: boolean
  /** A URI such as a lock token, or an entity tag with its quotes. */
  kind: 'token' | 'etag'
  value: string
}

/** Conditions that must all hold for one resource. */
export interface IfList {
  /** The URL of the resource; null for that of the request. */
  resource: string | null
  conditions: IfCondition[]
}

/** The maximum number of conditions, each of which can cause a lookup. */
const maxConditions = 100
const token = /(?:(\()|(\))|<([^<>\s]*)>|\[((?:W\/)?"[^"]*")\]|(Not)(?=[\s<[]))[ \t]*/iy

/** @throws INVALID_INPUT */
export function parseIf(text: string): IfList[] {
  const header = text.trim()
  const lists: IfList[] = []
  let resource: string | null = null
  let open: IfCondition[] | null = null
  let isNegated = false
  let isTagPending = false
  let count = 0
  token.lastIndex = 0
  while (token.lastIndex < header.length) {
    const match = token.exec(header)
    if (!match) throw malformed()
    const [, opens, closes, uri, etag] = match
    if (!open) {
      if (opens) {
        open = []
        isTagPending = false
        continue
      }
      // Tagged and untagged lists cannot be mixed.
      const mayBeTag = uri !== undefined && !isTagPending && (lists.length === 0 || resource !== null)
      if (!mayBeTag) throw malformed()
      resource = uri
      isTagPending = true
    } else if (closes) {
      if (isNegated || open.length === 0) throw malformed()
      lists.push({ resource, conditions: open })
      open = null
    } else if (uri !== undefined || etag !== undefined) {
      count += 1
      open.push({ isNegated, kind: uri === undefined ? 'etag' : 'token', value: uri ?? etag ?? '' })
      isNegated = false
    } else if (opens || isNegated) throw malformed()
    else isNegated = true
  }
  if (open || lists.length === 0 || count > maxConditions) throw malformed()
  return lists
}

function malformed(): AppError {
  return new AppError('INVALID_INPUT', 'The If header is malformed: see RFC 4918, section 10.4.')
}
