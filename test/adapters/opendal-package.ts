import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { pack, projectWith } from '../support/npm.ts'

const root = new URL('../..', import.meta.url).pathname

interface Installed {
  adapter: AdapterDefinition<{ service: string; options: string }>
  project: string
}

/** Installs the package for OpenDAL into an empty project in `folder`, like an operator does. */
export async function installOpendal(folder: string): Promise<Installed> {
  const tarball = await pack(join(root, 'packages/adapter-opendal'), folder)
  const project = await projectWith(folder, '--legacy-peer-deps', tarball)
  // Stowage itself is the one of these sources, not a package of a registry.
  const stowage = join(project, 'node_modules/stowage')
  await mkdir(stowage)
  await symlink(join(root, 'adapters'), join(stowage, 'adapters'))
  const exports = { './adapter': './adapters/contract.ts' }
  await writeFile(join(stowage, 'package.json'), JSON.stringify({ name: 'stowage', type: 'module', exports }))
  const entry = pathToFileURL(join(project, 'node_modules/stowage-adapter-opendal/index.js')).href
  return { adapter: (await import(entry)).default, project }
}
