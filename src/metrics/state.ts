import { Counter, Gauge, type Registry } from 'prom-client'

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
  const registers = [register]

  return {
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
