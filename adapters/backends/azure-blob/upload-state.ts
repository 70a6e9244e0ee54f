import { noUpload, parseJson, type State } from '../../bases/objects/uploads.ts'
import { isUploadId, type Keys } from './keys.ts'
import type { Staged } from './staging.ts'

/** @throws NOT_FOUND */
export function stagedOf(keys: Keys, id: string): Staged {
  if (!isUploadId(id)) throw noUpload()
  return { id, key: keys.staging(id) }
}

/** Returns the host's record of an unfinished write, with which `abort` can free it after a crash. */
export function formatRecord({ id }: Staged): string {
  return JSON.stringify({ id } satisfies Partial<State>)
}

/** Returns the parts that a state or a record names. */
export function parseRecord(text: string, keys: Keys): Staged | undefined {
  const { id } = parseJson(text)
  return isUploadId(id) ? { id, key: keys.staging(id) } : undefined
}
