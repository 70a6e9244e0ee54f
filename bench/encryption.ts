import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { client } from '../test/support/client.ts'
import { install, makeFile } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, run, startRclone } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'

const mib = 1024 * 1024
const fileBytes = 512 * mib
const streams = 4
const password = 'correct horse battery staple'

/** A WebDAV server in front of encrypted files. */
interface EncryptedPeer {
  /** The address of the top folder. */
  url: string
  /** Arguments of curl. */
  credential: string[]
}

export const encryption: Part = {
  title: 'Encrypted storages',
  about: `curl copies ${fileBytes / mib} MiB over WebDAV, alone and ${streams} times at once, from and to tmpfs: in turn with an encrypted storage of Stowage and with \`rclone
serve webdav\` in front of an \`rclone crypt\` remote, both with the same password and settings.`,
  async measure({ rounds, say }) {
    const rclone = await findProgram('rclone')
    if (!rclone) {
      say('Encrypted storages are skipped: they need rclone.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const { stowage, folder, files, session, key, providerId } = stack.use(await install())
    const api = client(stowage.url)
    // The encrypted storage takes the folder of the other one.
    await api.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: providerId }, session)
    const remoteRoot = join(folder, 'remote')
    await mkdir(remoteRoot)
    const connecting =
      'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { slug } } }'
    const input = { type: 'local', name: 'vault', config: { root: files }, versionCount: 0, encryption: { password } }
    await api.ask(connecting, { input }, session)
    const obscured = (await run(rclone, ['obscure', password])).stdout.trim()
    const remote = {
      RCLONE_CONFIG_VAULT_TYPE: 'crypt',
      RCLONE_CONFIG_VAULT_REMOTE: remoteRoot,
      RCLONE_CONFIG_VAULT_PASSWORD: obscured,
    }
    const { url } = stack.use(await startRclone(rclone, 'vault:', remote))
    const peers: Record<string, EncryptedPeer> = {
      'rclone crypt': { url, credential: [] },
      Stowage: { url: `${stowage.url}/dav/vault`, credential: ['-u', `any:${key}`] },
    }
    const source = join(folder, 'source.bin')
    await makeFile(source, fileBytes)
    for (const peer of Object.values(peers)) await put(peer, source, 'down.bin')

    const rows: Row[] = []
    const measure = async (what: string, count: number, work: (peer: EncryptedPeer, n: number) => Promise<unknown>) => {
      say(`  ${what}`)
      const works = Object.entries(peers).map(([name, peer]) => {
        const rate = async () => {
          const start = performance.now()
          await Promise.all(Array.from({ length: count }, (_, n) => work(peer, n)))
          return (count * fileBytes) / 1000 / (performance.now() - start)
        }
        return [name, rate]
      })
      const figures: Record<string, number[]> = await interleave(rounds, Object.fromEntries(works))
      const against = { what: 'rclone crypt', figures: figures['rclone crypt'] ?? [] }
      for (const name of Object.keys(peers)) {
        const row = { what: `${what}: ${name}`, figures: figures[name] ?? [], unit: 'MB/s' }
        rows.push(name === 'rclone crypt' ? row : { ...row, against })
      }
    }
    for (const [name, count] of [
      ['one', 1],
      [`${streams} at once`, streams],
    ] as const) {
      await measure(`${name}, download`, count, peer => get(peer, 'down.bin'))
      await measure(`${name}, upload`, count, (peer, n) => put(peer, source, `up-${n}.bin`))
    }
    return rows
  },
}

const curl = ['-sS', '--fail', '-H', 'Expect:', '-o', '/dev/null']

async function get({ url, credential }: EncryptedPeer, name: string): Promise<void> {
  await run('curl', [...curl, ...credential, `${url}/${name}`])
}

async function put({ url, credential }: EncryptedPeer, source: string, name: string): Promise<void> {
  await run('curl', [...curl, ...credential, '-T', source, `${url}/${name}`])
}
