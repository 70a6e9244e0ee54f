import { AppError } from '../../errors.ts'

export const maxTrashDays = 3650

/** @throws INVALID_INPUT */
export function parseTrashDays(days: number | null): number | null {
  if (days === null || (days >= 0 && days <= maxTrashDays)) return days
  throw new AppError('INVALID_INPUT', `"trashDays" is 0 to ${maxTrashDays}, or null for the setting of the server.`)
}
