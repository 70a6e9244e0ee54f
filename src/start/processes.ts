/** Serves from several processes behind one port. Each is a replica on the same database. */
import cluster, { type Worker } from 'node:cluster'
import { on, once } from 'node:events'
import { extname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { StartError } from '../errors.ts'
import { type RetrySchedule, retryDelay } from '../lib/retry.ts'
import type { Settings } from '../settings/index.ts'
import type { Served, ServeTask } from './serve.ts'
import type { ProcessReport } from './server-process.ts'

/** In milliseconds, for the replacement of a process that ended. It begins again after a process has run for a minute. */
const replacing: RetrySchedule = { delays: [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000], isEndless: true }
const steadyTime = 60_000
/** Milliseconds for the processes to stop by themselves. */
const closeTimeout = 15_000

/**
 * Starts the processes, and replaces each that ends.
 * @throws StartError if one of them cannot start
 */
export async function superviseProcesses(task: ServeTask, log: Logger): Promise<Served> {
  const { settings } = task
  const running = new Set<Worker>()
  const closing = new AbortController()
  let stopMetrics = async () => {}
  cluster.setupPrimary({ exec: entryPoint() })

  async function fork(index: number): Promise<{ worker: Worker; served: Omit<Served, 'close'> }> {
    const worker = cluster.fork()
    running.add(worker)
    worker.once('exit', () => running.delete(worker))
    worker.send({ ...task, settings: shareOf(settings, index), isFirst: index === 0, sharesMetrics: true })
    return { worker, served: await reportOf(worker) }
  }

  /** Replaces the process whenever it ends. */
  async function replace(index: number, first: Worker): Promise<void> {
    let worker: Worker | null = first
    let failures = 0
    while (!closing.signal.aborted) {
      const startedAt = performance.now()
      if (worker?.isDead() === false) await once(worker, 'exit')
      if (closing.signal.aborted) return
      failures = performance.now() - startedAt > steadyTime ? 1 : failures + 1
      const delay = retryDelay(replacing, failures) ?? undefined
      log.error({ pid: worker?.process.pid, delay }, 'A server process has ended; another one replaces it')
      await sleep(delay, undefined, { signal: closing.signal })
      const replaced = await fork(index).catch(err => log.error({ err }, 'A server process could not start'))
      worker = replaced?.worker ?? null
    }
  }

  async function close(): Promise<void> {
    closing.abort()
    await stopMetrics()
    const ended = [...running].map(worker => once(worker, 'exit'))
    for (const worker of running) worker.process.kill('SIGTERM')
    const killing = setTimeout(() => {
      for (const worker of running) worker.process.kill('SIGKILL')
    }, closeTimeout)
    await Promise.all(ended)
    clearTimeout(killing)
  }

  try {
    const started = await Promise.all(Array.from({ length: settings.processes }, (_, index) => fork(index)))
    for (const [index, { worker }] of started.entries()) {
      replace(index, worker).catch(error => {
        if (!closing.signal.aborted) log.error({ err: error }, 'A server process could not be replaced')
      })
    }
    stopMetrics = await serveMetrics(settings)
    const [first] = started
    if (!first) throw new StartError('STOWAGE_PROCESSES must be at least 1.')
    return { ...first.served, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Resolves when the process serves. @throws StartError */
async function reportOf(worker: Worker): Promise<Omit<Served, 'close'>> {
  const stop = new AbortController()
  const ended = once(worker, 'exit', stop).then(() => {
    throw new StartError('a server process ended while it started: look at the log above.')
  })
  const reported = firstReport(worker, stop.signal)
  try {
    const report = await Promise.race([reported, ended])
    if ('served' in report) return report.served
    throw new StartError(report.message)
  } finally {
    for (const wait of [reported, ended]) wait.catch(() => {})
    stop.abort()
  }
}

/** Skips messages about metrics. */
async function firstReport(worker: Worker, signal: AbortSignal): Promise<ProcessReport> {
  for await (const [message] of on(worker, 'message', { signal })) {
    if ('served' in message || 'message' in message) return message
  }
  throw new Error('The messages of a process never end by themselves')
}

/** Serves the metrics of all processes. Returns a function that ends it. @throws SettingsError */
async function serveMetrics({ metricsAddress }: Settings): Promise<() => Promise<void>> {
  if (!metricsAddress) return async () => {}
  const { collectMetrics } = await import('../metrics/processes.ts')
  const { listenForScrapes } = await import('../metrics/listen.ts')
  return listenForScrapes(metricsAddress, collectMetrics())
}

/** Returns the settings of one process. All processes together keep to the limits of the whole server. */
function shareOf(settings: Settings, index: number): Settings {
  const { processes, workers, connectionLimit } = settings
  return {
    ...settings,
    workers: Math.floor(workers / processes) + (index < workers % processes ? 1 : 0),
    // Connections go to the processes in turn.
    connectionLimit: Math.ceil(connectionLimit / processes),
  }
}

/** The file is compiled in a package and not in a checkout. */
function entryPoint(): string {
  return fileURLToPath(new URL(`./server-process${extname(import.meta.url)}`, import.meta.url))
}
