import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { SftpConfig } from '../../adapters/backends/sftp/config.ts'
import { sftpAdapter } from '../../adapters/backends/sftp/index.ts'
import type { Harness } from '../../adapters/conformance/index.ts'
import { at, call, get, namesIn, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { generateSshKeys } from '../../src/services/host-keys.ts'
import { startFakeSsh } from '../servers/fake-ssh.ts'
import { startSshd } from '../servers/sshd.ts'
import { atNight, extent } from '../support/extent.ts'
import { memoryFolder } from '../support/memory-folder.ts'
import { faults, runConformance, runFaultCases } from './conformance.ts'
import { impatientHost, sharingHost } from './host.ts'

// The server may need to be installed first.
t.setTimeout(300_000)

const server = await startSshd(t)
const { host, port, user, privateKey, passphrase, hostKey, root } = server
const folders = new Map<StorageProvider, string>()
const sharing = sharingHost(t)

async function open(folder: string, changes?: Partial<SftpConfig>): Promise<StorageProvider> {
  const config = { host, port, user, privateKey, passphrase, hostKey, connections: 1, folder, ...changes }
  const provider = await sftpAdapter.open(config, changes ? impatientHost : sharing)
  folders.set(provider, folder)
  return provider
}

async function newFolder(): Promise<string> {
  const folder = join(root, randomUUID())
  await mkdir(folder)
  return folder
}

const harness: Harness = {
  open: async () => await open(await newFolder()),
  reopen: provider => open(folders.get(provider) ?? ''),
  openFolder: (provider, path) => open(`${folders.get(provider)}/${path}`),
  // More than the server sends in one response.
  manyEntries: extent({ gate: 100, nightly: 250 }),
  largeFileSize: 80_000_000,
}
runConformance(t, 'sftp', harness, [
  'hasCreateRaces in the harness',
  'parts of resumable writes',
  'the trait keepsReplaced',
  ...['copySmall', 'deleteTree', 'openFile', 'readSmall', 'setModifiedAt', 'presign', 'changes'].map(
    name => `the method ${name}`,
  ),
  ...faults,
])

t.test('the host key is shown before anything secret is sent, and another one is refused', async t => {
  const folder = await newFolder()
  const { hostKey: _, ...rest } = { host, port, user, privateKey, passphrase, hostKey, connections: 1, folder }
  await t.rejects(sftpAdapter.open(rest, impatientHost), {
    code: 'INVALID_CONFIG',
    message: `${host} has the host key ${hostKey}. Compare it with the one that the administrator of the server names, and enter it as the host key.`,
    property: { name: 'hostKey', suggestion: hostKey },
  })
  const other = `SHA256:${'A'.repeat(43)}`
  await t.rejects(open(folder, { hostKey: other }), { code: 'UNAUTHORIZED', message: /has another host key \(SHA256:/ })
  const provider = await open(folder, { hostKey: `${other} ${hostKey}` })
  await provider.close?.()
})

t.test('wrong credentials and folders are told apart', async t => {
  const folder = await newFolder()
  const stranger = await generateSshKeys('ssh-ed25519')
  await t.rejects(open(folder, { privateKey: stranger.private }), { code: 'UNAUTHORIZED' })
  await t.rejects(open(folder, { passphrase: 'wrong' }), {
    code: 'INVALID_CONFIG',
    message: /private key cannot be read/,
  })
  await t.rejects(open(folder, { privateKey: stranger.public }), { code: 'INVALID_CONFIG' })
  await t.rejects(open(`${folder}/missing`), { code: 'INVALID_CONFIG', message: /has no folder/ })
  await writeFile(join(folder, 'file'), '')
  await t.rejects(open(`${folder}/file`), { code: 'INVALID_CONFIG' })
})

t.test('a password is sent as a password, or as the answer to a question', async t => {
  for (const method of ['password', 'keyboard-interactive'] as const) {
    const seen: string[] = []
    const { port, fingerprint } = await startFakeSsh(t, context => {
      if (context.method === 'password' && method === 'password') {
        seen.push(context.password)
        return context.password === 'right' ? context.accept() : context.reject()
      }
      if (context.method === 'keyboard-interactive' && method === 'keyboard-interactive') {
        return context.prompt([{ prompt: 'Password: ', echo: false }], answers => {
          seen.push(answers[0] ?? '')
          if (answers[0] === 'right') context.accept()
          else context.reject()
        })
      }
      return context.reject([method])
    })
    const config = { host, port, user, connections: 1, folder: '' }
    await t.rejects(sftpAdapter.open({ ...config, password: 'wrong', hostKey: fingerprint }, impatientHost), {
      code: 'UNAUTHORIZED',
    })
    // This server accepts the password and then offers no SFTP.
    await t.rejects(sftpAdapter.open({ ...config, password: 'right', hostKey: fingerprint }, impatientHost), {
      message: /does not offer SFTP/,
    })
    t.ok(seen.includes('wrong') && seen.includes('right'), method)
    await t.rejects(sftpAdapter.open({ ...config, password: 'never sent' }, impatientHost), { code: 'INVALID_CONFIG' })
    t.notOk(seen.includes('never sent'), 'the host key is checked first')
  }
})

t.test('calls reconnect after the server was restarted', async t => {
  const provider = await harness.open()
  await put(provider, 'file', 'content')
  const { body } = await provider.read(at('file'), call())
  body.destroy()
  await server.stop()
  await t.rejects(provider.stat(at('file'), call()), { code: 'UNAVAILABLE' })
  await server.start()
  t.equal((await get(provider, 'file')).toString(), 'content')
  await provider.close?.()
})

t.test('links and names that are not UTF-8 are left out', async t => {
  const folder = await newFolder()
  await writeFile(join(folder, 'file'), 'content')
  await symlink(join(folder, 'file'), join(folder, 'link'))
  await writeFile(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]), '')
  const provider = await open(folder)
  t.same(await namesIn(provider, ''), ['file'])
  await t.rejects(provider.stat(at('link'), call()), { code: 'NOT_FOUND' })
  await t.rejects(get(provider, 'link'), { code: 'NOT_FOUND' })
  await provider.close?.()
})

const [{ dev: disk }, { dev: otherDisk }] = [await stat(root), await stat(memoryFolder())]
const skip = disk === otherDisk && 'this machine has no tmpfs'

t.test('a file on another disk below the folder stays when it cannot be replaced from here', { skip }, async t => {
  const folder = await newFolder()
  const other = await mkdtemp(join(memoryFolder(), 'stowage-sftp-'))
  t.teardown(() => rm(other, { recursive: true }))
  await symlink(other, join(folder, 'disk'))
  await mkdir(join(other, 'sub'))
  const files = { file: 'file', source: 'source', 'disk/sub/file': 'other file', 'disk/sub/source': 'other source' }
  for (const [path, content] of Object.entries(files)) await writeFile(join(folder, path), content)
  const provider = await open(folder)
  const overwrite = { ...call(), overwrite: true }
  await t.rejects(put(provider, 'disk/sub/file', 'new', true), { code: 'PERMISSION_DENIED' })
  for (const [from, to] of [
    ['source', 'disk/sub/file'],
    ['disk/sub/source', 'file'],
  ] as const) {
    await t.rejects(async () => await provider.move?.(at(from), at(to), overwrite), { code: 'PERMISSION_DENIED' })
  }
  for (const [path, content] of Object.entries(files)) t.equal(await readFile(join(folder, path), 'utf8'), content)
  await provider.close?.()
})

atNight(t, 'a server that is down', async t => {
  await runFaultCases(t, harness, async () => {
    await server.stop()
    return () => server.start()
  })
})
