/** The main module of one of several server processes. The process that started it sends the task. */
import { once } from 'node:events'
import { StartError } from '../errors.ts'
import { createLog, exitOnUncaught } from '../log/logger.ts'
import { Redaction } from '../log/redaction.ts'
import { cacheCompiled } from './compile-cache.ts'
import type { Served, ServeTask } from './serve.ts'

/** The first message to the parent. The message of a failure is that of a StartError. */
export type ProcessReport = { served: Omit<Served, 'close'> } | { message: string }

const [task] = (await once(process, 'message')) as [ServeTask]
const redaction = new Redaction()
const log = createLog(task.settings.logLevel, undefined, redaction.redact)
exitOnUncaught(log)
const stop = Promise.withResolvers<void>()
// A signal of the terminal reaches this process, too. Without the parent, the port is closed.
for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(event, () => stop.resolve())
try {
  cacheCompiled(task.settings.dataFolder)
  const { serve } = await import('./serve.ts')
  const { close, ...served } = await serve(task, { log, redaction })
  report({ served })
  await stop.promise
  await close()
} catch (error) {
  if (!(error instanceof StartError)) throw error
  report({ message: error.message })
}
if (process.connected) process.disconnect()

function report(message: ProcessReport): void {
  // The parent may be gone.
  if (process.connected) process.send?.(message)
}
