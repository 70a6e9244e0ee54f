/** The bounds of files that other programs share and that wait on this device, with those that are sent with one form. */
export const maxShared = { files: 100, bytes: 2_000_000_000 }

/** Milliseconds: three days. Files that are not stored by then are forgotten. */
export const sharedFor = 3 * 24 * 60 * 60 * 1000

/** What a file of another program has beside its content, while it waits. */
export interface SharedInfo {
  name: string
  type: string
  size: number
  /** The time of sharing, in milliseconds. */
  at: number
}

const infoHeader = 'x-stowage-shared'

export function sharedResponse(file: File): Response {
  const info: SharedInfo = { name: file.name, type: file.type, size: file.size, at: Date.now() }
  return new Response(file, { headers: { [infoHeader]: encodeURIComponent(JSON.stringify(info)) } })
}

/** Reads what `sharedResponse` has written; null if the time of the file is over. */
export function sharedInfoOf(response: Response): SharedInfo | null {
  const header = response.headers.get(infoHeader)
  const info: SharedInfo | null = header === null ? null : JSON.parse(decodeURIComponent(header))
  return info && Date.now() - info.at <= sharedFor ? info : null
}
