import { createReadStream } from 'node:fs'
import { drive, auth as google } from '@googleapis/drive'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { consentingHost, startFake } from './fake.ts'
import { drain, type OpenPair } from './pair.ts'

export const googleDrive: OpenPair = async place => {
  const fake = await startFake(place, 'google-drive')
  const { url } = fake
  const endpoints = { api: url, authorize: url, token: url }
  const auth = new google.OAuth2()
  auth.setCredentials({ access_token: fake.token })
  const { files } = drive({ version: 'v3', auth, rootUrl: url })
  const { data } = await files.create({ requestBody: { name: 'sdk' } })
  const fileId = data.id ?? ''
  return {
    provider: await googleDriveAdapter({ endpoints }).open(
      { clientId: 'none', clientSecret: 'none' },
      consentingHost(fake),
    ),
    client: 'the SDK',
    transfers: {
      upload: () => files.update({ fileId, media: { body: createReadStream(place.file) } }, { rootUrl: url }),
      download: async () => drain((await files.get({ fileId, alt: 'media' }, { responseType: 'stream' })).data),
    },
  }
}
