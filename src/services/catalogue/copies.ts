/** Decides which files of the same size have the same content. */
import type { InsightFile } from '../../db/catalogue/insight.ts'

export interface Copies {
  size: number
  /** A checksum that all of the files have; null if the back ends gave none that could be compared. */
  checksum: { algorithm: string; hex: string } | null
  files: InsightFile[]
}

/** They find errors of a transfer. Different contents can have the same one. */
const weak: ReadonlySet<string> = new Set(['crc32', 'crc32c', 'crc64'])

/**
 * Returns groups of files with equal checksums, and one group of files whose sizes are equal and whose contents are not known to
 * differ. Files of different back ends often have checksums of different algorithms, or none.
 * @param limit the maximum number of files in a group
 */
export function copiesAmong(size: number, files: readonly InsightFile[], limit: number): Copies[] {
  const groups: Copies[] = []
  const grouped = new Set<InsightFile>()
  const known = new Set(files.flatMap(({ checksums }) => Object.keys(checksums)))
  const algorithms = [...known].filter(algorithm => !weak.has(algorithm))
  for (const algorithm of algorithms) {
    const rest = files.filter(file => !grouped.has(file) && file.checksums[algorithm] !== undefined)
    for (const [hex, equal] of Map.groupBy(rest, ({ checksums }) => checksums[algorithm] ?? '')) {
      if (equal.length < 2) continue
      for (const file of equal) grouped.add(file)
      groups.push({ size, checksum: { algorithm, hex }, files: equal.slice(0, limit) })
    }
  }
  // One of each group stands for the others.
  const different = [...groups.flatMap(({ files }) => files.slice(0, 1)), ...files.filter(file => !grouped.has(file))]
  const areCompared = algorithms.some(algorithm =>
    different.every(({ checksums }) => checksums[algorithm] !== undefined),
  )
  if (different.length > 1 && !areCompared) groups.push({ size, checksum: null, files: different.slice(0, limit) })
  return groups
}
