/**
 * Encrypted storages over every type of back end, with rclone as the other reader and writer. rclone's crypt reaches the back end through
 * the WebDAV endpoint of a second server, which has the same folder without encryption.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import * as backEnds from '../hostile/back-ends.ts'
import * as cloudBackEnds from '../hostile/cloud-back-ends.ts'
import { requirePrograms } from '../servers/programs.ts'
import { startApp } from '../support/app.ts'
import { atNight, inTurn } from '../support/extent.ts'

const run = promisify(execFile)
const password = 'correct horse'
const block = 64 * 1024
const sizes = [0, 1, block - 1, block, block + 1, 2 * block - 1, 2 * block, 2 * block + 1, 6_000_000]
const settings = [
  { encoding: 'BASE32', encryptFolderNames: true },
  { encoding: 'BASE32768', encryptFolderNames: false },
] as const

async function exchanges(t: Test, open: (t: Test) => backEnds.BackEnd | Promise<backEnds.BackEnd>): Promise<void> {
  await requirePrograms({
    who: 'The tests of encryption',
    programs: ['rclone'],
    packages: ['rclone'],
    instead: 'put it on PATH',
  })
  const backEnd = await open(t)
  const app = await startApp(t, { adapters: backEnd.adapters })
  const below = await startApp(t, { adapters: () => backEnd.adapters(app.folder) })
  const [{ token }, owner] = await Promise.all([app.register('owner@example.org'), below.register('owner@example.org')])
  const { key } = await below.createKey(owner.token, { name: 'rclone', scopes: ['write'] })
  const obscured = async (text: string) => (await run('rclone', ['obscure', text])).stdout.trim()
  // The memory has one folder.
  const tried = backEnd.type === 'memory' ? inTurn(settings).slice(0, 1) : settings
  for (const [n, encryption] of tried.entries()) {
    const config = await backEnd.config(app.folder, `vault ${n}`)
    const connecting = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
    const input = { type: backEnd.type, name: `vault ${n}`, config, encryption: { password, ...encryption } }
    const vault: string = (await app.ask(connecting, { input }, token)).connectProvider.provider.id
    await below.connectProvider(owner.token, backEnd.type, config, `plain ${n}`)
    const env = {
      ...process.env,
      RCLONE_CONFIG: join(app.folder, 'none'),
      RCLONE_CONFIG_P_TYPE: 'webdav',
      RCLONE_CONFIG_P_URL: `${below.url}/dav/plain-${n}`,
      RCLONE_CONFIG_P_USER: 'any',
      RCLONE_CONFIG_P_PASS: await obscured(key),
      RCLONE_CONFIG_C_TYPE: 'crypt',
      RCLONE_CONFIG_C_REMOTE: 'P:',
      RCLONE_CONFIG_C_PASSWORD: await obscured(password),
      RCLONE_CONFIG_C_FILENAME_ENCODING: encryption.encoding.toLowerCase(),
      RCLONE_CONFIG_C_DIRECTORY_NAME_ENCRYPTION: String(encryption.encryptFolderNames),
    }
    const rclone = (...given: string[]) => run('rclone', given, { env })
    const local = join(app.folder, `local ${n}`)
    const files = new Map(sizes.map(size => [`folder ${size % 3}/ünï ${size}.txt`, randomBytes(size)]))
    for (const [path, bytes] of files) {
      t.equal((await app.upload(token, vault, `/ours/${path}`, bytes)).status, 201, path)
      await mkdir(dirname(join(local, 'source', path)), { recursive: true })
      await writeFile(join(local, 'source', path), bytes)
    }
    await rclone('copy', 'C:ours', join(local, 'ours'))
    await rclone('copy', join(local, 'source'), 'C:theirs')
    for (const [path, bytes] of files) {
      t.ok((await readFile(join(local, 'ours', path))).equals(bytes), `rclone reads ${path}`)
      const found = await app.download(token, vault, `/theirs/${path}`)
      t.ok(Buffer.from(await found.arrayBuffer()).equals(bytes), `${path} of rclone`)
      if (bytes.length <= block) continue
      const part = await app.download(token, vault, `/theirs/${path}`, { range: `bytes=${block - 1}-${block}` })
      t.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(block - 1, block + 1)), `a part of ${path}`)
    }
  }
}

const { memory, ...others } = { ...backEnds, ...cloudBackEnds }
t.test('in memory', t => exchanges(t, memory))
for (const name of [
  'local',
  's3',
  'azureBlob',
  'googleDrive',
  'dropbox',
  'onedrive',
  'webdav',
  'nextcloud',
  'sftp',
  'ftp',
] as const) {
  await atNight(t, name, t => exchanges(t, others[name]))
}
