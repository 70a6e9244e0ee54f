/** The metrics of one process, in the text format of Prometheus. */
import { collectDefaultMetrics, Registry } from 'prom-client'
import { createHttpMetrics } from './http.ts'
import { createProviderMetrics } from './providers.ts'
import { createStateMetrics } from './state.ts'

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
