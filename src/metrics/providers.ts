import { Counter, Histogram, type Registry } from 'prom-client'
import { StorageError, type StorageProvider } from '../../adapters/contract.ts'
import { type AnyCall, withObservedCalls } from '../lib/observed.ts'

/** Seconds. */
const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300]

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
    buckets,
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
      return withObservedCalls(provider, (operation, call) => measured({ provider: id, type, operation }, call))
    },
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
