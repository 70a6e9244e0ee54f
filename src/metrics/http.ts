import type { FastifyInstance } from 'fastify'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

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
