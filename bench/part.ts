import type { Row } from './table.ts'

/** A part of the benchmark that can run alone. */
export interface Part {
  title: string
  /** Describes what is compared, and how. */
  about: string
  measure(options: {
    rounds: number
    say: (line: string) => void
    /** The number of files in a large tree. Default: what the part chooses. */
    files?: number | undefined
  }): Promise<Row[]>
}
