import { EmbeddedPostgresError } from './db/embedded/index.ts'
import { readSettings } from './settings.ts'
import { start } from './start.ts'
import { StartError } from './start-error.ts'

const usage = `Usage: stowage            start the server (settings come from the environment)
       stowage --help     this text
`

/** The exit status. */
export async function run(args: readonly string[]): Promise<number> {
  if (args.length > 0) {
    const asked = args.length === 1 && (args[0] === '--help' || args[0] === '-h')
    const stream = asked ? process.stdout : process.stderr
    stream.write(usage)
    return asked ? 0 : 2
  }
  try {
    return await start(readSettings(process.env))
  } catch (error) {
    if (!isExpected(error)) throw error
    process.stderr.write(`Stowage cannot start: ${error.message}\n`)
    return 1
  }
}

/** What the operator can mend: one sentence says how, a stack would only hide it. */
function isExpected(error: unknown): error is Error {
  return error instanceof StartError || error instanceof EmbeddedPostgresError
}
