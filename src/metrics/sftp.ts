import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Seconds. A request that stores a large file takes minutes. */
const requestBuckets = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300]

/** Statuses of SFTP by their numbers: draft-ietf-secsh-filexfer-02, section 7. */
const statusNames: Readonly<Record<number, string>> = {
  0: 'OK',
  1: 'END_OF_FILE',
  2: 'NO_SUCH_FILE',
  3: 'PERMISSION_DENIED',
  4: 'FAILURE',
  8: 'UNSUPPORTED',
}

export function createSftpMetrics(register: Registry) {
  const registers = [register]
  const duration = new Histogram({
    name: 'stowage_sftp_request_duration_seconds',
    help: 'Time from the start of a request to its response, by the status of the response.',
    labelNames: ['request', 'status'],
    buckets: requestBuckets,
    registers,
  })

  return {
    /** @param time in milliseconds */
    observeRequest(request: string, status: number, time: number): void {
      duration.observe({ request, status: statusNames[status] ?? 'OTHER' }, time / 1000)
    },

    /** @param load what the server does now, and the bytes since its start */
    observeLoad(load: () => { connections: number; sessions: number; received: number; sent: number }): void {
      new Gauge({
        name: 'stowage_sftp_connections',
        help: 'Connections of SSH, also those that have not authenticated.',
        registers,
        collect() {
          this.set(load().connections)
        },
      })
      new Gauge({
        name: 'stowage_sftp_sessions',
        help: 'Sessions of SFTP.',
        registers,
        collect() {
          this.set(load().sessions)
        },
      })
      new Counter({
        name: 'stowage_sftp_bytes_total',
        help: 'Bytes of the connections of SSH.',
        labelNames: ['direction'],
        registers,
        collect() {
          const { received, sent } = load()
          this.reset()
          this.inc({ direction: 'received' }, received)
          this.inc({ direction: 'sent' }, sent)
        },
      })
    },
  }
}
