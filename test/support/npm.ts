/** Runs npm like an author of adapters or an operator. */
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle, bundled } from './bundle.ts'
import { isNight } from './extent.ts'
import { runProgram } from './program.ts'

const root = new URL('../..', import.meta.url).pathname

/** Runs npm and resolves with its output. @throws Error with the whole output */
export async function npm(cwd: string, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runProgram({ command: ['npm', ...args], environment: npmEnvironment(), cwd })
  if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

/** Makes an empty project in `folder`, runs `npm install` with `args` there, and resolves with its path. */
export async function projectWith(folder: string, ...args: string[]): Promise<string> {
  const project = join(folder, 'project')
  await mkdir(project)
  await writeFile(join(project, 'package.json'), '{ "type": "module", "private": true }')
  await npm(project, 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...args)
  return project
}

/** Packs a copy of this project's sources in `folder` and resolves with the path of the tarball. */
export async function packStowage(folder: string): Promise<string> {
  const copy = join(folder, 'sources')
  await mkdir(copy)
  for (const name of [
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'LICENSE',
    'README.md',
    'src',
    'adapters',
    'migrations',
    'packages/cli/src',
    'packages/client/src',
    'scripts/build',
    'scripts/languages',
    'web/index.html',
    'web/package.json',
    'web/vite.config.ts',
    'web/public',
    'web/src',
    'web/languages',
  ]) {
    await cp(join(root, name), join(copy, name), { recursive: true })
  }
  if (!isNight) await useBuilt(copy)
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  await symlink(join(root, 'web/node_modules'), join(copy, 'web/node_modules'))
  return pack(copy, folder)
}

/** Replaces the build, without the types: `npm test` has already built the server and the console. */
async function useBuilt(copy: string): Promise<void> {
  await bundled()
  const ofTests = new Set(['compiled', 'state', 'test', 'web'].map(name => join(bundle, name)))
  await cp(bundle, join(copy, 'dist'), { recursive: true, filter: source => !ofTests.has(source) })
  await mkdir(join(copy, 'dist/compiled'))
  await cp(join(root, 'web/dist'), join(copy, 'dist/web/dist'), { recursive: true })
  const description = join(copy, 'package.json')
  const { scripts, ...rest } = JSON.parse(await readFile(description, 'utf8'))
  if (scripts.prepack !== 'npm run build') throw new Error('package.json has no step "prepack" that builds.')
  await writeFile(description, JSON.stringify({ ...rest, scripts: {} }))
}

/** Packs a package into `folder` and resolves with the path of the tarball. */
export async function pack(source: string, folder: string): Promise<string> {
  const printed = await npm(source, 'pack', '--silent', '--pack-destination', folder)
  return join(folder, printed.trim().split('\n').at(-1) ?? '')
}

/** The environment that npm needs on this machine, without the variables of the test run. */
export function npmEnvironment(): Record<string, string> {
  const wanted = /^(HOME|npm_config_(registry|cache|userconfig|globalconfig)|(https?|no)_proxy|NODE_EXTRA_CA_CERTS)$/i
  const found = Object.entries(process.env).flatMap(([name, value]) =>
    value && wanted.test(name) ? [[name, value]] : [],
  )
  return { ...Object.fromEntries(found), npm_config_prefer_offline: 'true' }
}
