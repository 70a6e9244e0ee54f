/** Serves Azure Blob Storage for one test run: `node azurite-host.ts <folder of the run> <identity of the run's process>`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { untilParentEnds } from '../support/until-parent-ends.ts'
import { type AzureAccount, RUN_PREFIX } from './azurite.ts'
import { serveRun } from './run.ts'

/** The account that every emulator has: https://learn.microsoft.com/azure/storage/common/storage-use-azurite */
const emulated = {
  account: 'devstoreaccount1',
  accountKey: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
}

async function start(): Promise<{ record: AzureAccount; stop: () => Promise<void> }> {
  const record = given()
  if (record) return { record, stop: async () => undefined }
  const script = createRequire(import.meta.url).resolve('azurite/dist/src/blob/main.js')
  const flags = [
    '--blobPort',
    '0',
    '--inMemoryPersistence',
    '--silent',
    '--disableTelemetry',
    '--blobKeepAliveTimeout',
    '60',
  ]
  const child = spawn(...untilParentEnds(process.execPath, [script, ...flags]), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`Azurite ended with code ${code}.`)))
  const endpoint = await Promise.race([ended, endpointIn(child.stdout)])
  ended.catch(() => process.exit(1))
  return {
    record: { ...emulated, endpoint: `${endpoint}/${emulated.account}` },
    stop: async () => {
      child.removeAllListeners('exit')
      child.kill('SIGKILL')
    },
  }
}

/** Azurite prints its address once it accepts connections. */
async function endpointIn(output: AsyncIterable<Buffer>): Promise<string> {
  let said = ''
  for await (const chunk of output) {
    said += chunk
    const [, endpoint] = /listens on (http:\/\/\S+)/.exec(said) ?? []
    if (endpoint) return endpoint
  }
  throw new Error(`Azurite did not print its address: ${said}`)
}

function given(): AzureAccount | undefined {
  const { TEST_AZURE_ACCOUNT: account, TEST_AZURE_KEY: accountKey, TEST_AZURE_ENDPOINT } = process.env
  if (!account) return undefined
  if (!accountKey) throw new Error('TEST_AZURE_ACCOUNT needs TEST_AZURE_KEY to be set, too.')
  return { account, accountKey, endpoint: TEST_AZURE_ENDPOINT ?? `https://${account}.blob.core.windows.net` }
}

await serveRun(RUN_PREFIX, start)
