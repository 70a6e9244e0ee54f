import type { AdapterDefinition } from '../contract.ts'
import { MemoryProvider } from './provider.ts'

type MemoryConfig = { maxBytes: number }

export const memoryAdapter: AdapterDefinition<MemoryConfig> = {
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
        default: 256 * 1024 * 1024,
      },
    },
    required: ['maxBytes'],
  },
  async open({ maxBytes }) {
    return new MemoryProvider(maxBytes)
  },
}
