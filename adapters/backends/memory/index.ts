/**
 * The adapter for files in the memory of the server. Nothing but a limit enters, and a provider leaves: the smallest one that fulfils
 * the contract.
 */
import type { AdapterDefinition } from '../../contract.ts'
import { MemoryProvider } from './provider.ts'
import { Budget, maxProviderBytes, sharedBytes } from './tree.ts'

type MemoryConfig = { maxBytes: number }

/** @param totalBytes the maximum number of bytes of all its providers together */
export function createMemoryAdapter(totalBytes: number): AdapterDefinition<MemoryConfig> {
  const shared = new Budget(
    totalBytes,
    `All memory providers of this server together can hold ${totalBytes} bytes. Delete files from one of them first.`,
  )
  return {
    type: 'memory',
    apiVersion: 1,
    title: 'Memory (for trying things out)',
    group: 'server',
    configSchema: {
      type: 'object',
      properties: {
        maxBytes: {
          type: 'integer',
          title: 'Limit in bytes',
          description:
            'The maximum size of all files together. All files are lost when the server stops or this limit changes. Each replica has its own files.',
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
