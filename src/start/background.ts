/** The work that a server does in the background: it deletes old rows, frees unfinished uploads, and finishes a rotation. */
import type { Logger } from 'pino'
import { startPolling } from '../lib/polling.ts'
import type { Services } from '../services/index.ts'

/** Milliseconds. */
const sweepInterval = 24 * 60 * 60 * 1000
const uploadSweepInterval = 10 * 60 * 1000

/**
 * Starts all work in the background.
 * @param isRotating whether stored values may still be encrypted with the previous secret
 * @returns a function that ends the work
 */
export function startBackgroundWork(services: Services, isRotating: boolean, log: Logger): () => Promise<void> {
  const {
    accounts,
    applications,
    approvals,
    authorization,
    audit,
    jobs,
    overview,
    passwordResets,
    push,
    secondSteps,
    shares,
    singleSignOn,
    uploads,
    entryLocks,
    objectLocks,
    webhooks,
  } = services
  const sweep = (signal: AbortSignal) =>
    Promise.all([
      accounts.sweep(),
      authorization.sweep(),
      singleSignOn.sweep(),
      secondSteps.sweep(),
      passwordResets.sweep(),
      push.sweep(),
      jobs.sweep(signal),
      webhooks.sweep(signal),
      entryLocks.sweep(),
      objectLocks.sweep(signal),
      audit.sweep(signal),
      overview.sweep(),
    ])
  const stops = [
    sweepEvery(sweepInterval, sweep, log),
    sweepEvery(
      uploadSweepInterval,
      signal => Promise.all([uploads.sweep(signal), shares.sweep(), applications.sweep(), approvals.sweep()]),
      log,
    ),
    ...(isRotating ? [finishRotation(services, log)] : []),
  ]
  return async () => {
    await Promise.all(stops.map(stop => stop()))
  }
}

function sweepEvery(
  interval: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  log: Logger,
): () => Promise<unknown> {
  const onError = (err: unknown) => log.error({ err }, 'Old rows could not be removed')
  const search = async (signal: AbortSignal) => void (await work(signal))
  return startPolling({ interval, search, onError }).stop
}

/** Encrypts all stored values with the current secret, in the background. Returns a function that ends it. */
function finishRotation({ rotation }: Services, log: Logger): () => Promise<void> {
  const stop = new AbortController()
  const work = rotation.finish(stop.signal).then(
    ({ count, unreadable }) => {
      log.info({ count }, 'All stored credentials are encrypted with the current secret')
      if (unreadable > 0) log.warn({ count: unreadable }, 'Stored credentials that neither secret decrypts')
    },
    err => {
      if (!stop.signal.aborted) log.error({ err }, 'Stored credentials are still encrypted with the previous secret')
    },
  )
  return () => {
    stop.abort()
    return work
  }
}
