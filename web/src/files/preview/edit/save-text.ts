import { stowage } from '../../../api/client.ts'
import { nameOfPath, type StorageLocation } from '../../../api/paths.ts'

const uploadPath = '/api/upload/proxy'

/** Restores the line endings that a text field does not have. */
function bytesOf(text: string, original: string): string {
  return original.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text
}

/**
 * Replaces exactly the version that was read.
 * @throws StowageError with the reason PRECONDITION_FAILED if somebody else changed the file meanwhile
 */
export async function saveText(
  { providerId, path }: StorageLocation,
  { text, original, etag, type }: { text: string; original: string; etag: string; type: string | null },
): Promise<void> {
  const query = new URLSearchParams({ providerId, path, conflict: 'replace' })
  const headers = { 'if-match': etag, 'content-type': type ?? 'text/plain' }
  await stowage.request(`${uploadPath}?${query}`, { method: 'POST', headers, body: bytesOf(text, original) })
}

/** Stores the text beside the file and returns the name that the server chose. @throws StowageError */
export async function saveCopy(
  { providerId, path }: StorageLocation,
  { text, original, type }: { text: string; original: string; type: string | null },
): Promise<string> {
  const body = new Blob([bytesOf(text, original)])
  const stored = await stowage.files.upload({ providerId, path, body, conflict: 'rename', ...(type && { type }) })
  return nameOfPath(stored)
}
