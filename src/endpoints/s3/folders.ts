import { AppError } from '../../errors.ts'
import type { FileEntry } from '../../services/files/index.ts'
import type { ObjectCall } from './operation.ts'

/** Creates a folder, unless it exists. */
export async function makeFolder({ services, request, providerId, path, signal }: ObjectCall): Promise<void> {
  const at = { providerId, path }
  await services.files.createFolder(request.viewer, at, signal).catch(async error => {
    const isTaken = error instanceof AppError && error.reason === 'ALREADY_EXISTS'
    const existing: FileEntry | null = isTaken ? await services.files.stat(request.viewer, at, signal) : null
    if (existing?.kind !== 'directory') throw error
  })
}
