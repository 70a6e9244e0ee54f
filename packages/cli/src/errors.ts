/** The errors of commands, and the exit codes that they give the process. */
import { StowageError } from '../../client/src/index.ts'

/** The exit codes that scripts rely on. */
export const exitCodes = {
  ok: { code: 0, meaning: 'Everything was done.' },
  failure: { code: 1, meaning: 'Something failed, or several things failed for different reasons.' },
  usage: { code: 2, meaning: 'The command line is wrong, or a change was not confirmed. Nothing was done.' },
  forbidden: { code: 3, meaning: 'You are not signed in, or the API key does not allow this.' },
  notFound: { code: 4, meaning: 'A storage, a file, a folder, a key or a job does not exist.' },
  conflict: { code: 5, meaning: 'A name is taken, a folder is not empty, or something changed meanwhile.' },
  interrupted: { code: 130, meaning: 'Ctrl-C interrupted the command. `SIGTERM` gives 143, and a closed pipe 141.' },
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]['code'] | 141 | 143

/** An expected failure. The message says what to do. */
export class CommandError extends Error {
  override name = 'CommandError'
  readonly exitCode: ExitCode
  readonly reason: string

  constructor(message: string, reason: string, exitCode: ExitCode, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
    this.exitCode = exitCode
  }
}

/** The command line is wrong. */
export function usageError(message: string): CommandError {
  return new CommandError(message, 'USAGE', exitCodes.usage.code)
}

export function notFound(message: string): CommandError {
  return new CommandError(message, 'NOT_FOUND', exitCodes.notFound.code)
}

export function nameTaken(what: string): CommandError {
  const message = `${what} exists: choose another name, or a conflict option.`
  return new CommandError(message, 'ALREADY_EXISTS', exitCodes.conflict.code)
}

/** The name would lead out of a local folder. */
export function unsafeName(name: string): CommandError {
  const message = `The name ${JSON.stringify(name)} is not safe on this machine.`
  return new CommandError(message, 'UNSAFE_NAME', exitCodes.failure.code)
}

export function needsRecursion(): CommandError {
  return new CommandError(
    'This is a folder: give -r to include everything in it.',
    'IS_A_FOLDER',
    exitCodes.failure.code,
  )
}

export function notAFile(): CommandError {
  const message = 'This is neither a file nor a folder: to copy from a pipe, give - as the source.'
  return new CommandError(message, 'NOT_A_FILE', exitCodes.failure.code)
}

const interruptions = { SIGINT: 130, SIGTERM: 143, SIGPIPE: 141 } as const

/** A signal ended the command. */
export class Interrupted extends CommandError {
  override name = 'Interrupted'

  constructor(signal: keyof typeof interruptions) {
    super('Interrupted.', 'INTERRUPTED', interruptions[signal])
  }
}

export interface DescribedError {
  message: string
  reason: string
  exitCode: ExitCode
}

const conflicts: ReadonlySet<string> = new Set([
  'ALREADY_EXISTS',
  'UPLOAD_UNDER_WAY',
  'NOT_EMPTY',
  'PRECONDITION_FAILED',
  'EEXIST',
])
const missing: ReadonlySet<string> = new Set(['NOT_FOUND', 'ENOENT'])
const refusals: ReadonlySet<string> = new Set(['SCOPE_REQUIRED', 'PROVIDER_NOT_ALLOWED', 'OUTSIDE_BASE_PATH'])

/** Returns the exit code for a reason of the server or the code of a system error. */
export function exitCodeOf(reason: string): ExitCode {
  if (conflicts.has(reason)) return exitCodes.conflict.code
  if (missing.has(reason)) return exitCodes.notFound.code
  if (refusals.has(reason)) return exitCodes.forbidden.code
  return exitCodes.failure.code
}

/** Describes an expected error. @throws the error itself if it is a bug */
export function describe(error: unknown): DescribedError {
  if (error instanceof CommandError) return error
  if (error instanceof StowageError) return describeResponse(error)
  const { code } = error as { code?: unknown }
  if (error instanceof Error && typeof code === 'string' && /^E[A-Z0-9]+$/.test(code)) {
    return { message: error.message, reason: code, exitCode: exitCodeOf(code) }
  }
  throw error
}

function describeResponse(error: StowageError): DescribedError {
  const { code, reason, message, retryable } = error
  if (code === 'UNAUTHENTICATED') {
    const exitCode = exitCodes.forbidden.code
    return { message: `${message} Sign in with "stowage login".`, reason, exitCode }
  }
  // Limits have the code FORBIDDEN, too.
  if (code === 'FORBIDDEN' && !retryable) return { message, reason, exitCode: exitCodes.forbidden.code }
  return { message, reason, exitCode: exitCodeOf(code === 'NOT_FOUND' ? code : reason) }
}
