/** Errors as SFTP reports them: draft-ietf-secsh-filexfer-02, section 7. */
import { type AppError, type Reason, reasons } from '../../errors.ts'

export const status = {
  ok: 0,
  endOfFile: 1,
  noSuchFile: 2,
  permissionDenied: 3,
  failure: 4,
  unsupported: 8,
} as const

export type Status = (typeof status)[keyof typeof status]

/** Errors that are neither a missing entry nor a missing right, although their codes say so. */
const failures: ReadonlySet<Reason> = new Set(['RATE_LIMITED', 'TOO_MANY_UPLOADS', 'TOO_MANY_JOBS'])

/** Version 3 has few statuses. The message of the error says the rest. */
export function statusOf({ reason }: AppError): Status {
  const { code } = reasons[reason]
  if (failures.has(reason)) return status.failure
  if (code === 'NOT_FOUND') return status.noSuchFile
  if (reason === 'NOT_A_FOLDER') return status.noSuchFile
  // Clients try again after a failure, but not after a refusal.
  if (reason === 'LOCKED') return status.permissionDenied
  if (code === 'FORBIDDEN' || code === 'UNAUTHENTICATED') return status.permissionDenied
  return status.failure
}
