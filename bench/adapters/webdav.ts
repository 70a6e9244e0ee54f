import { webdavAdapter } from '../../adapters/backends/webdav/index.ts'
import { testHost } from '../../adapters/conformance/index.ts'
import { startApache } from '../../test/servers/webdav.ts'
import { run } from '../processes.ts'
import type { OpenPair } from './pair.ts'

/** Both use digest authentication. */
export const webdav: OpenPair = async place => {
  const { url, user, password } = await startApache(place)
  const curl = (...more: string[]) => run('curl', ['-sSf', '--digest', '-u', `${user}:${password}`, ...more])
  return {
    provider: await webdavAdapter.open({ url, user, password }, testHost()),
    client: '`curl`',
    transfers: {
      upload: () => curl('-T', place.file, `${url}program`),
      download: () => curl('-o', '/dev/null', `${url}program`),
    },
  }
}
