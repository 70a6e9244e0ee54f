/** The folder that a new entry goes into. WebDAV creates no missing folders: RFC 4918, sections 9.3.1 and 9.7.1. */
import { formatPath, parentOf, parsePath, root } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { DavRequest, DavTarget } from './dav-request.ts'
import { davError } from './errors.ts'

/** @throws INVALID_PATH; with the status 409, if the folder is missing or a file */
export async function requireParent({ viewer, options, signal }: DavRequest, target: DavTarget): Promise<void> {
  const path = parsePath(target.path)
  if (path === root || parentOf(path) === root) return
  const parent = { ...target, path: formatPath(parentOf(path)) }
  const kind = await options.services.files.stat(viewer, parent, signal).then(
    entry => entry.kind,
    error => {
      if (!(error instanceof AppError)) throw error
      // The base path of the credential may be missing itself. Nothing above it can be seen.
      if (error.reason === 'OUTSIDE_BASE_PATH') return 'directory'
      if (error.reason === 'NOT_FOUND' || error.reason === 'NOT_A_FOLDER') return null
      throw error
    },
  )
  if (kind !== 'directory') throw davError(409, 'NOT_FOUND', `There is no folder "${parent.path}": create it first.`)
}

/** Returns the entry at a target, or null. */
export async function entryOrNull({ viewer, options, signal }: DavRequest, target: DavTarget) {
  return options.services.files.stat(viewer, target, signal).catch(error => {
    if (error instanceof AppError && (error.reason === 'NOT_FOUND' || error.reason === 'NOT_A_FOLDER')) return null
    throw error
  })
}
