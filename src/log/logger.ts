/**
 * The log of the server. Messages and errors enter, and lines of JSON without secrets leave (`redaction.ts`).
 */
import pino, { type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from '../settings/index.ts'

/** The maximum number of nested causes to log. */
const maxCauses = 5
/** The maximum nesting of an adapter's details. */
const maxDepth = 4

/**
 * Creates a log of JSON lines. It writes only known properties of errors: libraries attach clients, requests and keys to theirs.
 * @param redact removes secrets from a line
 */
export function createLog(level: LogLevel, destination?: DestinationStream, redact?: (line: string) => string): Logger {
  const options = {
    level,
    serializers: { err: (error: unknown) => describeError(error, maxCauses) },
    ...(redact && { hooks: { streamWrite: redact } }),
  }
  return destination ? pino(options, destination) : pino(options)
}

/** Replaces Node's own report, which shows properties of the error, such as clients, requests and configurations. */
export function exitOnUncaught(log: Logger): void {
  process.on('uncaughtException', err => {
    log.fatal({ err }, 'An uncaught error ends the server')
    process.exit(1)
  })
}

/** Reduces an adapter's details to plain data, with errors in the same form as elsewhere in the log. */
export function describeDetails(details: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [name, describe(value, maxDepth)]))
}

function describe(value: unknown, depth: number): unknown {
  if (value instanceof Error) return describeError(value, maxCauses)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return '[...]'
  if (Array.isArray(value)) return value.map(each => describe(each, depth - 1))
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value))
  if (!isPlain) return value instanceof Date ? value : `[${value.constructor?.name ?? 'object'}]`
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, describe(each, depth - 1)]))
}

function describeError(error: unknown, causes: number): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name: type, message, stack } = error
  const code = 'code' in error ? error.code : undefined
  const reason = 'reason' in error ? error.reason : undefined
  const cause = error.cause === undefined || causes === 0 ? undefined : describeError(error.cause, causes - 1)
  return { type, message, code, reason, stack, cause }
}
