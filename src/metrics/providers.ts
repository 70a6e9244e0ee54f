import { Counter, Histogram, type Registry } from 'prom-client'
import { StorageError, type StorageProvider } from '../../adapters/contract.ts'

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

  function observed<Args extends unknown[], Result>(
    labels: Record<(typeof labelNames)[number], string>,
    call: (...args: Args) => Result,
  ): (...args: Args) => Result {
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
      const calls = new Map<PropertyKey, unknown>()
      return new Proxy(provider, {
        get(target, operation) {
          const known = calls.get(operation)
          if (known) return known
          const value: unknown = Reflect.get(target, operation, target)
          if (typeof value !== 'function' || typeof operation !== 'string') return value
          const call = observed({ provider: id, type, operation }, value.bind(target))
          calls.set(operation, call)
          return call
        },
      })
    },
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
