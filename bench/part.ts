import type { Row } from './table.ts'

/** What can be measured alone. */
export interface Part {
  title: string
  /** What was held against what, and how. */
  about: string
  measure(options: { rounds: number; say: (line: string) => void }): Promise<Row[]>
}
