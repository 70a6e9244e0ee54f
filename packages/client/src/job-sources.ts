/** The maximum number of sources of one job. */
const maxSources = 100
/** Bytes of UTF-8 of all paths of these sources together. */
const maxPathsBytes = 64 * 1024

const encoder = new TextEncoder()

/** Divides any number of sources among jobs, in their order. Yields as many as one job can have. */
export function* sourcesOfJobs<Source extends { path: string }>(all: readonly Source[]): Generator<Source[]> {
  let sources: Source[] = []
  let bytes = 0
  for (const source of all) {
    const added = encoder.encode(source.path).length
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
