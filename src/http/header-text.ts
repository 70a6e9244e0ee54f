/** Removes optional whitespace at both ends, as RFC 9110, section 5.6.3 defines it, in linear time. */
export function trimWhitespace(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isWhitespace(text.charCodeAt(start))) start++
  while (end > start && isWhitespace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** Returns the index of the list's next element at or after `start`. Skips empty elements (RFC 9110, section 5.6.1). */
export function skipSeparators(list: string, start: number): number {
  let at = start
  while (at < list.length && (list[at] === ',' || isWhitespace(list.charCodeAt(at)))) at++
  return at
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09
}
