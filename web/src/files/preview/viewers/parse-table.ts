const delimiters = [',', ';', '\t', '|'] as const

/** Every cell is an element of the page, and a short file can have hundreds of thousands of cells. */
const maxColumns = 100
const maxCells = 20_000

interface Table {
  rows: string[][]
  /** The number of columns in these rows that are left out. */
  hiddenColumns: number
  /** Whether these are all rows of the text. */
  isAll: boolean
}

/**
 * Parses comma-separated values (RFC 4180), also with the other delimiters that programs write. A quote that never ends takes
 * the rest of the text.
 */
export function parseTable(text: string, maxRows: number): Table {
  const delimiter = delimiterOf(text)
  const rows: string[][] = []
  let row: string[] = []
  let field = ''
  let isQuoted = false
  let [columns, widest, cells] = [0, 0, 0]
  const endField = () => {
    if (columns < maxColumns) row.push(field)
    columns += 1
    field = ''
  }
  const endRow = () => {
    endField()
    rows.push(row)
    widest = Math.max(widest, columns)
    cells += row.length
    row = []
    columns = 0
  }
  const isFull = () => rows.length >= maxRows || cells >= maxCells
  let at = 0
  for (; at < text.length && !isFull(); at += 1) {
    const character = text.charAt(at)
    if (isQuoted) {
      if (character !== '"') field += character
      else if (text.charAt(at + 1) === '"') {
        field += '"'
        at += 1
      } else isQuoted = false
    } else if (character === '"' && field === '') isQuoted = true
    else if (character === delimiter) endField()
    else if (character === '\n') endRow()
    else if (character !== '\r') field += character
  }
  const isAll = at >= text.length
  if (field !== '' || columns > 0) endRow()
  return { rows, hiddenColumns: Math.max(0, widest - maxColumns), isAll }
}

/** Returns the delimiter that is most frequent in the first line. */
function delimiterOf(text: string): string {
  const [line = ''] = text.split('\n', 1)
  const countOf = (delimiter: string) => line.split(delimiter).length
  return delimiters.reduce((best, delimiter) => (countOf(delimiter) > countOf(best) ? delimiter : best))
}
