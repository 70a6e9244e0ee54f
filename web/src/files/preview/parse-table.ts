const delimiters = [',', ';', '\t', '|'] as const

/**
 * Parses comma-separated values (RFC 4180), also with the other delimiters that programs write. A quote that never ends takes
 * the rest of the text.
 */
export function parseTable(text: string, maxRows: number): string[][] {
  const delimiter = delimiterOf(text)
  const rows: string[][] = []
  let row: string[] = []
  let field = ''
  let isQuoted = false
  const endRow = () => {
    rows.push([...row, field])
    row = []
    field = ''
  }
  for (let at = 0; at < text.length && rows.length < maxRows; at += 1) {
    const character = text.charAt(at)
    if (isQuoted) {
      if (character !== '"') field += character
      else if (text.charAt(at + 1) === '"') {
        field += '"'
        at += 1
      } else isQuoted = false
    } else if (character === '"' && field === '') isQuoted = true
    else if (character === delimiter) {
      row.push(field)
      field = ''
    } else if (character === '\n') endRow()
    else if (character !== '\r') field += character
  }
  if ((field !== '' || row.length > 0) && rows.length < maxRows) endRow()
  return rows
}

/** Returns the delimiter that is most frequent in the first line. */
function delimiterOf(text: string): string {
  const [line = ''] = text.split('\n', 1)
  const countOf = (delimiter: string) => line.split(delimiter).length
  return delimiters.reduce((best, delimiter) => (countOf(delimiter) > countOf(best) ? delimiter : best))
}
