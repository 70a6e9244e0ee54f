/**
 * Builds the real Dockerfile without a Docker engine: buildah makes a base image of Debian and this Node, builds the image on it, and
 * runs a container. `image.test.ts` tests the single steps without buildah.
 */
import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { findProgram, requirePrograms } from '../servers/programs.ts'
import { client } from '../support/client.ts'
import { freePort } from '../support/free-port.ts'
import { npmEnvironment } from '../support/npm.ts'
import { processTree } from '../support/process-tree.ts'
import { startProgram, temporaryFolder } from '../support/program.ts'

const root = new URL('../..', import.meta.url).pathname
const run = promisify(execFile)
// Debian and all packages come over the network.
t.setTimeout(1_800_000)

/** Returns why this machine cannot build the image; false if it can. @throws Error for the same reason in CI */
async function refusal(): Promise<string | false> {
  try {
    if (process.getuid?.() !== 0)
      throw new Error('Only root may change the root folder: run this test as root on Debian.')
    await requirePrograms({
      who: 'The tests of the image',
      programs: ['buildah', 'debootstrap'],
      packages: ['buildah', 'debootstrap'],
      instead: 'put buildah and debootstrap on PATH',
    })
    return false
  } catch (error) {
    if (process.env.CI || !(error instanceof Error)) throw error
    return error.message
  }
}

interface ImageConfig {
  Cmd: string[]
  User: string
  Healthcheck: { Test: string[] }
}

t.test('the built image runs a server that stores files', { skip: await refusal() }, async t => {
  const folder = await temporaryFolder(t)
  const policy = join(folder, 'policy.json')
  // The images come from this machine.
  await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }))
  const global = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  const environment = { ...npmEnvironment(), PATH: process.env.PATH, HOME: folder, BUILDAH_ISOLATION: 'chroot' }
  const program = async (name: string, ...args: string[]) => {
    const options = { env: environment, maxBuffer: 64 * 1024 * 1024 }
    const { stdout } = await run(name, args, options).catch(error => {
      throw new Error(
        `${name} ${args.join(' ')}: ${String(error.stdout).slice(-4000)}${String(error.stderr).slice(-4000)}`,
      )
    })
    return stdout.trim()
  }
  const buildah = (...args: string[]) => program('buildah', ...global, ...args)
  t.teardown(() => buildah('rm', '--all'))

  const base = await makeBase(join(folder, 'base'), program)
  const scratch = await buildah('from', 'scratch')
  await buildah('add', '--quiet', scratch, base.folder, '/')
  for (const [name, value] of Object.entries(base.variables))
    await buildah('config', '--env', `${name}=${value}`, scratch)
  await buildah('commit', '--quiet', '--rm', '--signature-policy', policy, scratch, 'localhost/base')

  const build = ['--format', 'docker', '--network', 'host', '--signature-policy', policy]
  await buildah('bud', ...build, '--build-arg', 'NODE_IMAGE=localhost/base', '--tag', 'localhost/stowage', root)
  const { config } = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/stowage')).Docker as {
    config: ImageConfig
  }
  t.equal(config.User, 'node')

  const container = await buildah('from', '--signature-policy', policy, '--pull-never', 'localhost/stowage')
  const port = String(await freePort())
  const within = (...command: string[]) => {
    const variables = ['--env', 'HOST=127.0.0.1', '--env', `PORT=${port}`]
    return ['run', '--network', 'host', '--user', config.User, ...variables, container, '--', ...command]
  }
  const healthCheck = () => buildah(...within(...config.Healthcheck.Test.slice(1)))
  await t.rejects(healthCheck(), 'before the start')
  const server = await startProgram(t, {
    command: ['buildah', ...global, ...within(...config.Cmd)],
    environment: { HOME: folder, BUILDAH_ISOLATION: 'chroot' },
  })
  t.teardown(async () => {
    for (const { pid } of await processTree(server.process.pid ?? 0)) process.kill(pid, 'SIGKILL')
  })
  await healthCheck()
  t.match(await buildah(...within('stowage', '--help')), /^Usage: stowage/)

  const { register, connectProvider, upload, download } = client(server.url)
  const { token } = await register('owner@example.org')
  const providerId = await connectProvider(token, 'local', { root: '/data/files' })
  t.equal((await upload(token, providerId, '/a.txt', 'stored in a container')).status, 201)
  t.equal(await (await download(token, providerId, '/a.txt')).text(), 'stored in a container')
})

type Run = (name: string, ...args: string[]) => Promise<string>

/** Makes the folder of an image like `node:24-bookworm-slim`, and the variables that npm needs to reach its registry from here. */
async function makeBase(folder: string, program: Run): Promise<{ folder: string; variables: Record<string, string> }> {
  const targets = await program('apt-get', 'indextargets', '--format', '$(SITE) $(RELEASE)', 'Created-By: Packages')
  const [mirror, release] = targets.split('\n')[0]?.split(' ') ?? []
  if (!mirror || !release) throw new Error('apt knows no mirror of Debian: add one to /etc/apt/sources.list.')
  await program('debootstrap', '--variant=minbase', '--include=ca-certificates', release, folder, mirror)
  await copyFile(await realpath(process.execPath), join(folder, 'usr/local/bin/node'))
  const modules = join(folder, 'usr/local/lib/node_modules')
  await mkdir(modules, { recursive: true })
  // The program of npm is a link to npm/bin/npm-cli.js.
  const npm = await realpath((await findProgram('npm')) ?? 'npm')
  await cp(dirname(dirname(npm)), join(modules, 'npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(folder, 'usr/local/bin/npm'))
  await program('chroot', folder, 'useradd', '--create-home', '--uid', '1000', 'node')
  const variables: Record<string, string> = { npm_config_registry: await program('npm', 'config', 'get', 'registry') }
  const certificates = process.env.NODE_EXTRA_CA_CERTS
  if (certificates) {
    await copyFile(certificates, join(folder, 'etc/ssl/extra.pem'))
    variables.NODE_EXTRA_CA_CERTS = '/etc/ssl/extra.pem'
  }
  return { folder, variables }
}
