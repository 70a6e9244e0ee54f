/** Encrypted storages through the server, with rclone on the same disk. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { requirePrograms } from '../servers/programs.ts'
import { startApp } from '../support/app.ts'
import { atNight, extent, inTurn } from '../support/extent.ts'

const run = promisify(execFile)
const kib = 1024
const [password, salt] = ['correct horse', 'battery staple']

interface Settings {
  names?: 'STANDARD' | 'OFF'
  encoding?: 'BASE32' | 'BASE64' | 'BASE32768'
  encryptFolderNames?: boolean
}

const app = await startApp(t)
const { token } = await app.register('owner@example.org')
const connecting =
  'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id encryption { names encoding encryptFolderNames suffix } } } }'
let made = 0

/** Connects a new folder of the disk. */
async function connect(encryption: object | null, folder = `disk ${made++}`) {
  const root = join(app.folder, folder)
  await mkdir(root, { recursive: true })
  const input = { type: 'local', name: folder, config: { root }, encryption }
  const { data, errors } = await app.graphql(connecting, { input }, token)
  return { root, errors, provider: data?.connectProvider?.provider }
}

/** Returns what rclone needs to open the folder. */
async function rcloneFor(root: string, { names, encoding, encryptFolderNames }: Settings) {
  await requirePrograms({
    who: 'The tests of encryption',
    programs: ['rclone'],
    packages: ['rclone'],
    instead: 'put it on PATH',
  })
  const obscured = async (text: string) => (await run('rclone', ['obscure', text])).stdout.trim()
  const env = {
    ...process.env,
    RCLONE_CONFIG: join(app.folder, 'none'),
    RCLONE_CONFIG_C_TYPE: 'crypt',
    RCLONE_CONFIG_C_REMOTE: root,
    RCLONE_CONFIG_C_PASSWORD: await obscured(password),
    RCLONE_CONFIG_C_PASSWORD2: await obscured(salt),
    RCLONE_CONFIG_C_FILENAME_ENCRYPTION: names?.toLowerCase() ?? 'standard',
    RCLONE_CONFIG_C_FILENAME_ENCODING: encoding?.toLowerCase() ?? 'base32',
    RCLONE_CONFIG_C_DIRECTORY_NAME_ENCRYPTION: String(encryptFolderNames ?? true),
  }
  return (...given: string[]) => run('rclone', given, { env, maxBuffer: 64 * kib * kib })
}

const borders = [
  0,
  1,
  64 * kib - 1,
  64 * kib,
  64 * kib + 1,
  128 * kib - 1,
  128 * kib,
  128 * kib + 1,
  192 * kib + 16,
  1024 * kib + 17,
]
const random = Array.from({ length: 20 }, () => randomBytes(3).readUIntBE(0, 3) % (3 * 1024 * kib))
const sizes = extent({ gate: [0, 64 * kib, 64 * kib + 1, 1024 * kib + 17], nightly: [...borders, ...random] })
const names = ['plain.txt', 'ünï 日本語', 'a-v2001-02-03-040506-123.txt', '.hidden', 'x'.repeat(120)]

const all: Settings[] = [
  { encoding: 'BASE32' },
  { encoding: 'BASE64', encryptFolderNames: false },
  { encoding: 'BASE32768' },
  { names: 'OFF' },
  { encoding: 'BASE32', encryptFolderNames: false },
  { encoding: 'BASE64' },
  { encoding: 'BASE32768', encryptFolderNames: false },
]

for (const settings of inTurn(all)) {
  t.test(`rclone reads what the server wrote, and the other way round: ${JSON.stringify(settings)}`, async t => {
    const { root, provider } = await connect({ password, salt, ...settings })
    const rclone = await rcloneFor(root, settings)
    const local = join(app.folder, `local ${made++}`)
    const contents = new Map(
      sizes.map((size, index) => [
        `in/${index % names.length}/${names[index % names.length]} ${size}`,
        randomBytes(size),
      ]),
    )
    for (const [path, bytes] of contents) {
      t.equal((await app.upload(token, provider.id, `/${path}`, bytes)).status, 201, path)
    }
    await rclone('copy', 'c:', join(local, 'out'))
    for (const [path, bytes] of contents) t.ok((await readFile(join(local, 'out', path))).equals(bytes), path)

    await rclone('move', 'c:in', 'c:moved')
    await rclone('copy', join(local, 'out/in'), 'c:from rclone')
    for (const folder of ['moved', 'from rclone']) {
      for (const [path, bytes] of contents) {
        const found = await app.download(token, provider.id, path.replace('in', `/${folder}`))
        t.ok(Buffer.from(await found.arrayBuffer()).equals(bytes), `${folder}: ${path}`)
      }
    }
    const stored = await readdir(root, { recursive: true, withFileTypes: true })
    const shown = stored.filter(entry => entry.isFile()).map(entry => entry.name)
    if (settings.names !== 'OFF') t.notMatch(shown.join('\n'), /plain|hidden|xxx/)
  })
}

t.test('an existing remote opens as it is, and a wrong password does not open it', async t => {
  const root = join(app.folder, 'remote')
  const source = join(app.folder, 'source')
  await mkdir(join(source, 'folder'), { recursive: true })
  await writeFile(join(source, 'folder/file'), 'from rclone')
  const rclone = await rcloneFor(root, {})
  await rclone('copy', source, 'c:')
  for (const wrong of [{ password: 'mistyped', salt }, { password }, { password, salt, encoding: 'BASE64' }]) {
    const { errors } = await connect(wrong, 'remote')
    t.match(errors, [{ extensions: { reason: 'INVALID_CONFIG' }, message: /does not decrypt what is in it/ }])
  }
  const { provider } = await connect({ password, salt }, 'remote')
  t.same(provider.encryption, { names: 'STANDARD', encoding: 'BASE32', encryptFolderNames: true, suffix: '.bin' })
  const found = await app.download(token, provider.id, '/folder/file')
  t.equal(await found.text(), 'from rclone')
})

t.test('what cannot be an encryption is refused', async t => {
  for (const bad of [
    { password: '' },
    { password: 'x'.repeat(1025) },
    { password, salt: '\ud800' },
    { password, suffix: 'bin' },
    { password, suffix: './x' },
    { password, suffix: '' },
  ]) {
    const { errors } = await connect(bad)
    t.match(errors, [{ extensions: { reason: 'INVALID_INPUT' } }], JSON.stringify(bad).slice(0, 60))
  }
  const { errors } = await connect({ password, names: 'OBFUSCATE' })
  t.match(errors, [{ message: /does not exist in "NameEncryption"/ }])
})

t.test('nothing else is connected where an encrypted storage is', async t => {
  const refusal = [{ message: /needs a folder of its own/, extensions: { reason: 'INVALID_CONFIG' } }]
  const { provider } = await connect({ password }, 'own/vault')
  for (const folder of ['own/vault', 'own', 'own/vault/below']) {
    t.match((await connect(null, folder)).errors, refusal, folder)
    t.match((await connect({ password }, folder)).errors, [{ extensions: { reason: 'INVALID_CONFIG' } }], folder)
  }
  t.match((await connect(null, 'own/vault 2')).errors, [])
  const { provider: plain } = await connect(null, 'plain')
  t.match((await connect({ password }, 'plain/inside')).errors, refusal)
  await app.db.updateTable('providers').set({ root_id: null }).where('id', '=', plain.id).execute()
  t.match((await connect({ password }, 'plain/inside')).errors, refusal, 'as of a storage that was connected before')
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  const move = (id: string, folder: string) =>
    app.graphql(update, { input: { id, config: { root: join(app.folder, folder) } } }, token)
  t.match((await move(plain.id, 'own')).errors, refusal)
  await mkdir(join(app.folder, 'used'))
  await writeFile(join(app.folder, 'used/letter'), 'clear text')
  t.match((await move(provider.id, 'used')).errors, [{ message: /does not decrypt what is in it/ }])
  t.match((await move(provider.id, 'plain/inside')).errors, refusal)
  const input = { password, names: 'OFF' }
  const both = await Promise.all(['race', 'race/below'].map(folder => connect(input, folder)))
  t.equal(both.filter(({ errors }) => errors?.length).length, 1, 'two at once')
})

atNight(t, 'the encryption stays, on every replica, and the audit log has no secret', async t => {
  const { root, provider } = await connect({ password, salt, names: 'OFF', suffix: '.enc' })
  await app.upload(token, provider.id, '/one', 'content of one')
  const update =
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { encryption { names suffix } } }'
  const input = { id: provider.id, name: 'renamed', config: { root } }
  t.same((await app.ask(update, { input }, token)).updateProvider.encryption, { names: 'OFF', suffix: '.enc' })
  const change = { ...input, encryption: { password: 'other' } }
  t.match((await app.graphql(update, { input: change }, token)).errors, [{ message: /"encryption" is not defined/ }])
  const other = await app.replica()
  t.equal(await (await other.download(token, provider.id, '/one')).text(), 'content of one')
  t.same(
    (await readdir(root)).filter(name => !name.startsWith('.')),
    ['one.enc'],
  )
  t.notMatch(await readFile(join(root, 'one.enc'), 'latin1'), /content/)
  const rows = await app.db.selectFrom('audit_events').selectAll().where('action', '=', 'PROVIDER_CONNECT').execute()
  const text = JSON.stringify(rows)
  t.match(text, /"encryption":\{"names":"OFF"/)
  t.notMatch(text, new RegExp(`${password}|${salt}`))
})
