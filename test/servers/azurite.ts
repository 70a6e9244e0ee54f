/**
 * One Azure Blob Storage per test run: Microsoft's emulator Azurite (azurite-host.ts), with real signatures. The environment
 * can name an account: TEST_AZURE_ACCOUNT, TEST_AZURE_KEY and, outside of the public cloud, TEST_AZURE_ENDPOINT.
 */
import { randomUUID } from 'node:crypto'
import { BlobServiceClient, type ContainerClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { type RunServer, serverOfThisRun } from './run.ts'

/** The record that the host publishes. */
export interface AzureAccount {
  endpoint: string
  account: string
  accountKey: string
}

export interface AzureServer extends AzureAccount {
  /** Creates an empty container, which is removed after the test. Its client does not use the adapter. */
  newContainer(): Promise<ContainerClient>
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

export const RUN_PREFIX = 'stowage-azure-test-'
const azureRunServer: RunServer = {
  prefix: RUN_PREFIX,
  what: 'Azure Blob Storage',
  host: new URL('azurite-host.ts', import.meta.url),
  startTimeout: 60_000,
  environment: ['TEST_AZURE_ACCOUNT', 'TEST_AZURE_KEY', 'TEST_AZURE_ENDPOINT'],
}

export async function azureServer(t: Scope): Promise<AzureServer> {
  const account = await serverOfThisRun<AzureAccount>(azureRunServer)
  const credential = new StorageSharedKeyCredential(account.account, account.accountKey)
  const service = new BlobServiceClient(account.endpoint, credential, { retryOptions: { maxTries: 1 } })
  const made: ContainerClient[] = []
  t.teardown(async () => {
    // The emulator keeps everything in memory, so it needs no cleanup.
    if (process.env.TEST_AZURE_ACCOUNT) await Promise.all(made.map(container => container.delete()))
  })
  const newContainer = async () => {
    const container = service.getContainerClient(`stowage-test-${randomUUID()}`)
    await container.create()
    made.push(container)
    return container
  }
  return { ...account, newContainer }
}
