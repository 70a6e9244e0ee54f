/**
 * Parts of an upload, which arrive in any order and at once.
 *
 * The first part decides the length of a slot. A part that is no longer goes straight to its slot in the staged file, part 3 to the
 * third one, so that parts of equal length are already one file when the upload completes. A part that is longer, or that is sent
 * again, gets a file of its own in the folder `upload-<id>.parts`. That folder also has a file for each slot that was claimed, so
 * that nobody writes to a slot twice.
 */
import type { PartWrites } from '../../../contract.ts'
import { withStorageErrors } from '../errors.ts'
import { splitPath } from '../names.ts'
import type { Root } from '../root.ts'
import { publishAt } from '../store.ts'
import { endFile, parseState, reading, removeUpload, withUploadFolder } from '../unfinished.ts'
import { putPart } from './put.ts'
import { parseTag, partMissing } from './tag.ts'
import { withWhole } from './whole.ts'

export function partWrites(root: Root): PartWrites {
  return {
    minSize: 1,

    put: (text, body, options) =>
      reading(body, async () => {
        const state = parseState(text)
        return await withUploadFolder(root, state, options.signal, staging => putPart(staging, state, body, options))
      }),

    complete: (text, parts, options) =>
      withStorageErrors(async () => {
        const state = parseState(text)
        const { signal, overwrite, size } = options
        const listed = parts.map(part => parseTag(part, state)).sort((a, b) => a.number - b.number)
        if (listed.reduce((sum, part) => sum + part.size, 0) !== size) throw partMissing()
        return await withUploadFolder(root, state, signal, async (staging, parent) => {
          const destination = { root, ...splitPath(state.path), overwrite, signal }
          const entry = await withWhole(staging, state, listed, signal, async whole => {
            await endFile(whole.handle, size, state)
            return await publishAt(whole, destination, undefined)
          })
          // The file is stored, and a later call can free the rest.
          await removeUpload(staging, parent, state).catch(() => {})
          return entry
        })
      }),
  }
}
