import { fileUpload, uploadFile } from 'dropbox'
import { dropboxAdapter } from '../../adapters/backends/dropbox/index.ts'
import { connect } from '../../test/servers/dropbox/client.ts'
import { consentingHost, startFake } from './fake.ts'
import { type OpenPair, sdkParts } from './pair.ts'

/** The SDK keeps the whole file in memory when it downloads. */
export const dropbox: OpenPair = async place => {
  const fake = await startFake(place, 'dropbox')
  const { url } = fake
  const endpoints = { api: url, content: url, authorize: url, token: url }
  const client = connect(fake, fake.token)
  const options = { chunkSize: sdkParts.size, parallelUploads: sdkParts.atOnce }
  const target = { path: '/sdk', mode: { '.tag': 'overwrite' } } as const
  return {
    provider: await dropboxAdapter({ endpoints }).open({ clientId: 'none' }, consentingHost(fake)),
    client: 'the SDK',
    transfers: {
      upload: async () => uploadFile(client, await fileUpload(place.file), target, options),
      download: () => client.filesDownload({ path: '/sdk' }),
    },
  }
}
