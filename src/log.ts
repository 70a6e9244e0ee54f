import pino, { type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from './settings.ts'

/** Causes within causes; deeper ones say nothing new. */
const maxCauses = 5

/** JSON lines. Of an error only what tells of it: libraries hang clients, requests and keys on theirs. */
export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const options = { level, serializers: { err: (error: unknown) => describeError(error, maxCauses) } }
  return destination ? pino(options, destination) : pino(options)
}

function describeError(error: unknown, causes: number): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name: type, message, stack } = error
  const code = 'code' in error ? error.code : undefined
  const reason = 'reason' in error ? error.reason : undefined
  const cause = error.cause === undefined || causes === 0 ? undefined : describeError(error.cause, causes - 1)
  return { type, message, code, reason, stack, cause }
}
