export interface Row {
  what: string
  /** One figure for each round. */
  figures: readonly number[]
  unit: string
  /** The baseline, with one figure for each round. */
  against?: { what: string; figures: readonly number[] } | undefined
}

export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]]
  return (low + high) / 2
}

/** Returns the median of the ratios of each round to a baseline, and the lowest to the highest one. */
export function ratioOf(figures: readonly number[], baseline: readonly number[]): { middle: string; range: string } {
  const ratios = baseline.map((figure, round) => (figures[round] ?? Number.NaN) / figure)
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
  return { middle: median(ratios).toFixed(2), range }
}

/** Formats medians, and the ratios of each round, as Markdown. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map(({ what, figures, unit, against }) => {
    const { middle, range } = ratioOf(figures, against?.figures ?? [])
    const ratio = against ? `**${middle}** of ${against.what} (${range})` : ''
    return `| ${what} | ${rounded(median(figures))} ${unit} | ${ratio} |`
  })
  return ['| | median | ratio, median (lowest to highest round) |', '|---|---|---|', ...lines].join('\n')
}

function rounded(figure: number): string {
  return figure.toLocaleString('en', figure < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 })
}
