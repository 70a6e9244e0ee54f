import { ftpAdapter } from '../../adapters/backends/ftp/index.ts'
import { testHost } from '../../adapters/conformance/index.ts'
import { startProftpd } from '../../test/servers/proftpd.ts'
import { run } from '../processes.ts'
import type { OpenPair } from './pair.ts'

/** Both use explicit TLS. */
export const ftp: OpenPair = async place => {
  const { host, port, user, password, fingerprint, security } = await startProftpd(place)
  const server = { host, port, user, password, fingerprint, security }
  const curl = (...more: string[]) => run('curl', ['-sSk', '--ssl-reqd', '-u', `${user}:${password}`, ...more])
  const address = `ftp://${host}:${port}/program`
  return {
    provider: await ftpAdapter.open({ ...server, folder: '', connections: 8, continuesUploads: false }, testHost()),
    client: '`curl`',
    transfers: {
      upload: () => curl('-T', place.file, address),
      download: () => curl('-o', '/dev/null', address),
    },
  }
}
