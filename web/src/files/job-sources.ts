/** The maximum number of sources of one job. */
const maxSources = 100
/** Bytes of UTF-8 of all paths of these sources together. */
const maxPathsBytes = 64 * 1024

const encoder = new TextEncoder()

/** Returns the first of the sources: as many as one job can have. */
export function sourcesOfJob<Source extends { path: string }>(all: readonly Source[]): Source[] {
  let bytes = 0
  const first = all.slice(0, maxSources)
  const end = first.findIndex(({ path }, index) => {
    bytes += encoder.encode(path).length
    return index > 0 && bytes > maxPathsBytes
  })
  return end === -1 ? first : first.slice(0, end)
}
