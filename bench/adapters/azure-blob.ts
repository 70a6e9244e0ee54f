import type { Readable } from 'node:stream'
import { azureBlobAdapter } from '../../adapters/backends/azure-blob/index.ts'
import { testHost } from '../../adapters/conformance/index.ts'
import { azureServer } from '../../test/servers/azurite.ts'
import { drain, type OpenPair, sdkParts, source } from './pair.ts'

export const azureBlob: OpenPair = async place => {
  const { account, accountKey, endpoint, newContainer } = await azureServer(place)
  const container = await newContainer()
  const access = { account, accountKey, endpoint, access: 'key' } as const
  const blob = container.getBlockBlobClient('sdk')
  return {
    provider: await azureBlobAdapter().open({ ...access, container: container.containerName, prefix: '' }, testHost()),
    client: 'the SDK',
    transfers: {
      upload: () => blob.uploadStream(source(), sdkParts.size, sdkParts.atOnce),
      download: async () => drain((await blob.download()).readableStreamBody as Readable),
    },
  }
}
