import type { AdapterDefinition } from '../contract.ts'
import { Budget, maxProviderBytes, sharedBytes } from './budget.ts'
import { MemoryProvider } from './provider.ts'

type MemoryConfig = { maxBytes: number }

/** @param totalBytes what all its providers together may take */
export function createMemoryAdapter(totalBytes: number): AdapterDefinition<MemoryConfig> {
  const shared = new Budget(
    totalBytes,
    `All memory providers of this server together can hold ${totalBytes} bytes. Delete files in one of them first.`,
  )
  return {
    type: 'memory',
    apiVersion: 1,
    title: 'Memory (for trying things out)',
    configSchema: {
      type: 'object',
      properties: {
        maxBytes: {
          type: 'integer',
          title: 'Limit in bytes',
          description:
            'What all files together may take. They are forgotten when the server stops or this is changed, and each replica has its own.',
          minimum: 0,
          maximum: maxProviderBytes,
          default: maxProviderBytes,
        },
      },
      required: ['maxBytes'],
    },
    async open({ maxBytes }) {
      return new MemoryProvider(maxBytes, shared)
    },
  }
}

export const memoryAdapter = createMemoryAdapter(sharedBytes)
