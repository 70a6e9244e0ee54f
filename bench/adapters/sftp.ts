import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sftpAdapter } from '../../adapters/backends/sftp/index.ts'
import { testHost } from '../../adapters/conformance/index.ts'
import { startSshd } from '../../test/servers/sshd.ts'
import { run } from '../processes.ts'
import type { OpenPair } from './pair.ts'

/** OpenSSH's own program. */
export const sftp: OpenPair = async place => {
  const { host, port, user, privateKey, passphrase, hostKey, root } = await startSshd(place)
  const config = { host, port, user, privateKey, passphrase, hostKey, folder: root, connections: 4 }
  // The program takes no passphrase without a terminal.
  const key = join(place.folder, 'key')
  await writeFile(key, privateKey, { mode: 0o600 })
  await run('ssh-keygen', ['-q', '-p', '-P', passphrase, '-N', '', '-f', key])
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR']
  const login = ['-i', key, '-P', `${port}`, ...options.flatMap(each => ['-o', each]), `${user}@${host}`]
  const program = async (command: string) => {
    const batch = join(place.folder, 'batch')
    await writeFile(batch, `${command}\n`)
    await run('sftp', ['-b', batch, ...login])
  }
  return {
    provider: await sftpAdapter.open(config, testHost()),
    client: '`sftp`',
    transfers: {
      upload: () => program(`put ${place.file} ${root}/program`),
      download: () => program(`get ${root}/program /dev/null`),
    },
  }
}
