import { Cron } from 'croner'
import { AppError } from '../../errors.ts'

/** Characters. */
const maxPattern = 200
const maxZone = 100

/**
 * Returns the first time after `after` that matches a cron pattern of five parts, so at most one in each minute. A local time
 * that a change of the clocks skips moves to the first moment that exists; one that it repeats counts once.
 * @throws INVALID_INPUT
 */
export function nextTime({ cron, timeZone }: { cron: string; timeZone: string }, after: Date): Date {
  requireTimeZone(timeZone)
  const next = cron.length <= maxPattern ? parsed(cron, timeZone)?.nextRun(after) : null
  if (next) return next
  const message = `"${cron.slice(0, maxPattern)}" is not a cron pattern that ever matches: use five parts, such as "30 2 * * *".`
  throw new AppError('INVALID_INPUT', message)
}

function parsed(cron: string, timezone: string): Cron | null {
  try {
    return new Cron(cron, { timezone, mode: '5-part', paused: true })
  } catch (error) {
    // Croner throws these for any text that is not a pattern.
    if (error instanceof TypeError || error instanceof RangeError) return null
    throw error
  }
}

/** @throws INVALID_INPUT */
function requireTimeZone(timeZone: string): void {
  try {
    if (timeZone === '' || timeZone.length > maxZone) throw new RangeError('the length')
    Intl.DateTimeFormat('en', { timeZone })
  } catch {
    const message = `"${timeZone.slice(0, maxZone)}" is not a time zone: use a name such as "UTC" or "Europe/Berlin".`
    throw new AppError('INVALID_INPUT', message)
  }
}
