/** The commands of the operator, which run on the machine of the server. */
import { EmbeddedPostgresError } from '../db/embedded/layout.ts'
import { AppError, StartError } from '../errors.ts'
import { readSettings } from '../settings/index.ts'
import { backUp } from './backup.ts'
import { cacheCompiled } from './compile-cache.ts'

/** Runs the server or an operator's command. Returns the exit status, or null if the arguments are wrong. */
export async function runServerCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number | null> {
  const [command, operand, ...rest] = args
  if (command === undefined) return attempt('start', () => runServer(environment))
  const one = operand !== undefined && !operand.startsWith('-') && rest.length === 0 ? operand : null
  if (command === 'backup' && one !== null) return attempt('back up', () => runBackup(environment, one))
  if (command === 'copy-database' && one !== null) {
    return attempt('copy the database', () => runCopyDatabase(environment, one))
  }
  if (command === 'reset-factors' && one !== null) {
    return attempt('remove the second factors', () => runResetFactors(environment, one))
  }
  if (command === 'doctor' && operand === undefined) return attempt('check', () => runDoctor(environment))
  if (command === 'adapter' && operand === 'test') return runAdapterTest(rest, environment)
  if (command === 'apply') {
    const files = args.slice(1).filter(each => each !== '--plan')
    const [file] = files
    if (files.length === 1 && file !== undefined && !file.startsWith('-')) {
      return attempt('apply the file', () => runApply(environment, file, args.includes('--plan')))
    }
  }
  return null
}

async function runServer(environment: NodeJS.ProcessEnv): Promise<number> {
  const settings = readSettings(environment)
  cacheCompiled(settings.dataFolder)
  const { start } = await import('./start.ts')
  return await start(settings)
}

/** Returns 1 if there is a problem. */
async function runDoctor(environment: NodeJS.ProcessEnv): Promise<number> {
  const { examine, lineOf } = await import('./doctor/index.ts')
  let status = 0
  for await (const finding of examine(environment)) {
    process.stdout.write(lineOf(finding))
    if (finding.level === 'PROBLEM') status = 1
  }
  return status
}

const stepSigns = { CREATE: '+', CHANGE: '~', DRIFT: '!' } as const

/** Returns 3 if `planOnly` and there is something to change. */
async function runApply(environment: NodeJS.ProcessEnv, file: string, planOnly: boolean): Promise<number> {
  const { apply } = await import('./apply/index.ts')
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const steps = await apply(readSettings(environment), file, {
    planOnly,
    onPlan(steps) {
      for (const { kind, subject, details } of steps) print(`${stepSigns[kind]} ${subject}: ${details}`)
      if (steps.length === 0) print('Nothing differs.')
    },
    onDone: ({ subject }) => print(`done: ${subject}`),
  })
  return planOnly && steps.some(({ run }) => run) ? 3 : 0
}

/** Returns 1 if a case has failed; null if the arguments are wrong. */
async function runAdapterTest(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number | null> {
  const { parseAdapterTest } = await import('./adapter-test/request.ts')
  const request = parseAdapterTest(args)
  if (!request) return null
  return attempt('test the adapter', async () => {
    const { testAdapter } = await import('./adapter-test/index.ts')
    const passes = await testAdapter(request, readSettings(environment), line => process.stdout.write(`${line}\n`))
    return passes ? 0 : 1
  })
}

/** Returns a signal that aborts when the operator stops the command. */
function untilInterrupted(work: string): AbortSignal {
  const interrupted = new AbortController()
  const onSignal = (signal: NodeJS.Signals) => interrupted.abort(new StartError(`${signal} interrupted the ${work}.`))
  process.once('SIGTERM', onSignal).once('SIGINT', onSignal)
  return interrupted.signal
}

async function runCopyDatabase(environment: NodeJS.ProcessEnv, target: string): Promise<number> {
  const { copyDatabase, embeddedTarget } = await import('./copy-database.ts')
  const settings = readSettings(environment)
  const rows = await copyDatabase(settings, target, untilInterrupted('copy'))
  const secret = settings.secret === null ? `the secret in ${settings.dataFolder}/secret` : 'the same secret'
  const change = target === embeddedTarget ? 'without DATABASE_URL' : 'with DATABASE_URL set to the new database'
  process.stdout.write(
    `${rows} rows are copied. Start the server ${change}, and with STOWAGE_SECRET set to ${secret}. The old database is unchanged.\n`,
  )
  return 0
}

async function runBackup(environment: NodeJS.ProcessEnv, folder: string): Promise<number> {
  const path = await backUp(readSettings(environment), folder, untilInterrupted('backup'))
  process.stdout.write(`The database and the secret are in ${path}; copy the files of local providers yourself.\n`)
  return 0
}

async function runResetFactors(environment: NodeJS.ProcessEnv, email: string): Promise<number> {
  const { resetFactors } = await import('./reset-factors.ts')
  const account = await resetFactors(readSettings(environment), email)
  process.stdout.write(`${account} has no second factor any more, and is signed out everywhere.\n`)
  return 0
}

async function attempt(what: string, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    if (!isExpected(error)) throw error
    process.stderr.write(`Stowage cannot ${what}: ${error.message}\n`)
    return 1
  }
}

/** Returns whether the message tells the operator how to fix the error, so that no stack is needed. */
function isExpected(error: unknown): error is Error {
  return error instanceof StartError || error instanceof EmbeddedPostgresError || error instanceof AppError
}
