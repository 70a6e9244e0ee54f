import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { testHost } from '../../adapters/conformance/index.ts'
import { installOpendal } from '../../test/adapters/opendal-package.ts'
import { drain, type OpenPair, source } from './pair.ts'

/** Both use the service for the local disk, so that no server takes time. */
export const opendal: OpenPair = async place => {
  const { adapter, project } = await installOpendal(place.folder)
  const root = join(place.folder, 'files')
  await mkdir(root)
  const { Operator } = createRequire(join(project, 'package.json'))('opendal')
  const operator = new Operator('fs', { root })
  process.env.OPENDAL_SERVICES = 'fs'
  return {
    provider: await adapter.open({ service: 'fs', options: JSON.stringify({ root }) }, testHost()),
    client: 'the library',
    transfers: {
      upload: async () => pipeline(source(), (await operator.writer('library')).createWriteStream()),
      download: async () => drain((await operator.reader('library')).createReadStream()),
    },
  }
}
