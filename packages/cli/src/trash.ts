import type { TrashedEntry } from '../../client/src/index.ts'

/** The fields of an entry in the trash that the command line prints. */
export const trashFields = ['kind', 'originalPath', 'size', 'deletedAt', 'expiresAt'] as const

export function trashRecord({ kind, originalPath, size, deletedAt, expiresAt }: TrashedEntry) {
  return {
    kind,
    originalPath,
    size,
    deletedAt: deletedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  } satisfies Record<(typeof trashFields)[number], unknown>
}

/** The time of the deletion in UTC, the size and the path. */
export function trashText({ kind, originalPath, size, deletedAt }: TrashedEntry): string {
  const time = `${deletedAt.toISOString().slice(0, 19)}Z`
  return `${time}  ${String(size ?? '-').padStart(14)}  ${originalPath}${kind === 'folder' ? '/' : ''}`
}
