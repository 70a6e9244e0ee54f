import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { OneDriveLargeFileUploadTask } from '@microsoft/microsoft-graph-client'
import { oneDriveAdapter } from '../../adapters/backends/onedrive/index.ts'
import type { Network } from '../../adapters/contract.ts'
import { connect, send } from '../../test/servers/onedrive/client.ts'
import { consentingHost, startFake } from './fake.ts'
import { drain, type OpenPair } from './pair.ts'

/** Bytes of one request of the SDK, as many as the adapter sends: a multiple of 320 KiB. */
const rangeSize = 32 * 320 * 1024

export const onedrive: OpenPair = async place => {
  const fake = await startFake(place, 'onedrive')
  const host = consentingHost(fake)
  const network: Network = { ...host.network, fetch: (input, init) => send(fake, String(input), init) }
  const endpoints = { api: `${fake.url}v1.0/`, login: fake.url }
  const client = connect(fake, fake.token)
  // The SDK sends what is in memory.
  const content = await readFile(place.file)
  const options = { fileName: 'sdk', path: '/', rangeSize, conflictBehavior: 'replace' }
  return {
    provider: await oneDriveAdapter({ endpoints }).open({ clientId: 'none' }, { ...host, network }),
    client: 'the SDK',
    transfers: {
      upload: async () => (await OneDriveLargeFileUploadTask.create(client, content, options)).upload(),
      download: async () => drain(Readable.fromWeb(await client.api('/me/drive/root:/sdk:/content').getStream())),
    },
  }
}
