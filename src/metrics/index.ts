/** The metrics of one process, in the text format of Prometheus. */

import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { StorageError, type StorageProvider } from '../../adapters/contract.ts'
import { type AnyCall, wrapCalls } from '../lib/wrap-calls.ts'

export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics() {
  const register = new Registry()
  collectDefaultMetrics({ register })
  return {
    register,
    ...createHttpMetrics(register),
    ...createProviderMetrics(register),
    ...createStateMetrics(register),
  }
}

/** Seconds. Transfers of large files take minutes. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function createHttpMetrics(register: Registry) {
  const duration = new Histogram({
    name: 'stowage_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response.',
    labelNames: ['method', 'route', 'status'],
    buckets,
    registers: [register],
  })
  const bytes = new Counter({
    name: 'stowage_http_bytes_total',
    help: 'Bytes of requests and responses, headers included, counted when a response ends.',
    labelNames: ['direction'],
    registers: [register],
  })
  /** The bytes of each connection that are counted already. */
  const counted = new WeakMap<object, { read: number; written: number }>()

  return {
    /** Observes all requests. Call this before routes are added. */
    observeServer(app: FastifyInstance): void {
      new Gauge({
        name: 'stowage_http_transfers',
        help: 'Uploads and downloads that are running.',
        registers: [register],
        collect() {
          this.set(app.transfers.size)
        },
      })
      app.addHook('onResponse', (request, reply, done) => {
        const { method, routeOptions, socket } = request
        // A label for each unknown URL would need memory without a bound.
        const labels = { method, route: routeOptions.url ?? 'none', status: reply.statusCode }
        duration.observe(labels, reply.elapsedTime / 1000)
        const { bytesRead = 0, bytesWritten = 0 } = socket
        const before = counted.get(socket)
        bytes.inc({ direction: 'received' }, Math.max(0, bytesRead - (before?.read ?? 0)))
        bytes.inc({ direction: 'sent' }, Math.max(0, bytesWritten - (before?.written ?? 0)))
        counted.set(socket, { read: bytesRead, written: bytesWritten })
        done()
      })
    },
  }
}

/** Seconds. */
const callBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300]

export interface ProviderLabels {
  id: string
  type: string
}

export function createProviderMetrics(register: Registry) {
  const labelNames = ['provider', 'type', 'operation'] as const
  const duration = new Histogram({
    name: 'stowage_provider_call_duration_seconds',
    help: 'Time of a call to a back end. A read ends when its content begins, a write when the file is stored.',
    labelNames,
    buckets: callBuckets,
    registers: [register],
  })
  const errors = new Counter({
    name: 'stowage_provider_errors_total',
    help: 'Calls to a back end that failed, by the code of the adapter.',
    labelNames: [...labelNames, 'code'],
    registers: [register],
  })

  function measured(labels: Record<(typeof labelNames)[number], string>, call: AnyCall): AnyCall {
    return (...args) => {
      const end = duration.startTimer(labels)
      const result = call(...args)
      if (!(result instanceof Promise)) return result
      result.then(
        () => end(),
        error => {
          end()
          const code = error instanceof StorageError ? error.code : isAbort(error) ? 'ABORTED' : 'FAULT'
          errors.inc({ ...labels, code })
        },
      )
      return result
    }
  }

  return {
    /** Returns the provider with its calls measured. */
    observeProvider(provider: StorageProvider, { id, type }: ProviderLabels): StorageProvider {
      return wrapCalls(provider, (operation, call) => measured({ provider: id, type, operation }, call))
    },
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

/** The values that the rest of the server supplies when the metrics are read. */
export interface State {
  database: () => { total: number; idle: number; waiting: number }
  /** Events of the audit log that wait to be written. */
  waitingEvents: () => number
  /** The number of jobs in each state, except those that have ended. */
  jobs: () => Promise<ReadonlyMap<string, number>>
}

export function createStateMetrics(register: Registry) {
  const lost = new Counter({
    name: 'stowage_audit_events_lost_total',
    help: 'Events of the audit log that could not be stored.',
    labelNames: ['action'],
    registers: [register],
  })
  const scans = new Counter({
    name: 'stowage_upload_scans_total',
    help: 'Uploads that went through the virus scanner, by result.',
    labelNames: ['result'],
    registers: [register],
  })
  const damage = new Counter({
    name: 'stowage_damaged_files_total',
    help: 'Files that jobs have found damaged or missing, and those that they have restored.',
    labelNames: ['kind'],
    registers: [register],
  })
  const registers = [register]

  return {
    countDamage(counts: Record<string, number>): void {
      for (const [kind, count] of Object.entries(counts)) damage.inc({ kind }, count)
    },

    countScan(result: string): void {
      scans.inc({ result })
    },

    countLostEvents(counts: Record<string, number>): void {
      for (const [action, count] of Object.entries(counts)) lost.inc({ action }, count)
    },

    observeState({ database, waitingEvents, jobs }: State): void {
      new Gauge({
        name: 'stowage_database_connections',
        help: 'Connections of the pool, and queries that wait for one.',
        labelNames: ['state'],
        registers,
        collect() {
          for (const [state, count] of Object.entries(database())) this.set({ state }, count)
        },
      })
      new Gauge({
        name: 'stowage_audit_events_waiting',
        help: 'Events of the audit log that wait to be stored.',
        registers,
        collect() {
          this.set(waitingEvents())
        },
      })
      new Gauge({
        name: 'stowage_jobs',
        help: 'Jobs of the whole installation that have not ended.',
        labelNames: ['state'],
        registers,
        // Every process reads the same number from the database.
        aggregator: 'max',
        async collect() {
          this.reset()
          for (const [state, count] of await jobs()) this.set({ state }, count)
        },
      })
    },
  }
}
