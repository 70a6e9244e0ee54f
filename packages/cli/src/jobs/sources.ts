/** The number of sources that a job can have. */
const maxSources = 100
/** Bytes of UTF-8 of all paths of these sources together. */
const maxPathsBytes = 64 * 1024

/** Yields the sources of one job after the other, in their order. */
export function* sourcesOfJobs<Source extends { path: string }>(all: readonly Source[]): Generator<Source[]> {
  let sources: Source[] = []
  let bytes = 0
  for (const source of all) {
    const added = Buffer.byteLength(source.path)
    if (sources.length === maxSources || (sources.length > 0 && bytes + added > maxPathsBytes)) {
      yield sources
      sources = []
      bytes = 0
    }
    sources.push(source)
    bytes += added
  }
  if (sources.length > 0) yield sources
}
