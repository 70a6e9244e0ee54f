/** The back ends of cloud storages whose paths are names, on fake servers. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { dropboxAdapter } from '../../adapters/backends/dropbox/index.ts'
import { oneDriveAdapter } from '../../adapters/backends/onedrive/index.ts'
import { webdavAdapter } from '../../adapters/backends/webdav/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { backoff, configOf, endpointsOf } from '../adapters/dropbox-world.ts'
import * as onedriveWorld from '../adapters/onedrive-world.ts'
import { type FileTree, type Node, pathOf, segmentsIn } from '../servers/cloud/tree.ts'
import { startDropbox } from '../servers/dropbox/index.ts'
import { startNextcloud } from '../servers/nextcloud/index.ts'
import { startOneDrive } from '../servers/onedrive/index.ts'
import type { BackEnd, Item } from './back-ends.ts'

const top = 'provider'

/** Opens an adapter with tokens of its fake server instead of a person's consent. */
function authorized<Config>(adapter: AdapterDefinition<Config>, issue: () => string): AdapterDefinition {
  const { oauth: _, ...rest } = adapter
  const open = (config: Config, host: Parameters<typeof adapter.open>[1]) =>
    adapter.open(config, { ...host, accessToken: async () => issue() })
  return { ...rest, open } as AdapterDefinition
}

/** Returns everything in a tree but its root. */
function itemsOf(tree: FileTree): Item[] {
  return [...tree.all()]
    .filter(node => node !== tree.root)
    .map(node => ({ at: segmentsIn(pathOf(node)), is: describe(node) }))
}

function describe({ children, id, version, chunks }: Node): string {
  return children ? 'folder' : `${id} ${version} ${Buffer.concat(chunks)}`
}

export async function dropbox(t: Test): Promise<BackEnd> {
  const fake = await startDropbox(t)
  const { tree } = fake.files
  return {
    type: 'dropbox',
    foldsCase: true,
    adapters: () => [authorized(dropboxAdapter({ endpoints: endpointsOf(fake), backoff }), () => fake.oauth.issue())],
    async config(_, below = '') {
      const path = join(top, below)
      tree.folder(path)
      return { ...configOf(fake), rootFolder: `/${path}` }
    },
    spelled: path => [top, ...segmentsIn(path)],
    async make(where, content) {
      fake.addFile(where.join('/'), content)
    },
    all: async () => itemsOf(tree),
  }
}

export async function onedrive(t: Test): Promise<BackEnd> {
  const fake = await startOneDrive(t)
  const { tree } = fake.drive
  const options = { endpoints: onedriveWorld.endpointsOf(fake), backoff, copyInterval: 5 }
  return {
    type: 'onedrive',
    foldsCase: true,
    adapters: () => [authorized(oneDriveAdapter(options), () => fake.oauth.issue())],
    async config(_, below = '') {
      const path = join(top, below)
      tree.folder(path)
      return { ...onedriveWorld.configOf(fake), rootFolder: `/${path}` }
    },
    spelled: path => [top, ...segmentsIn(path)],
    async make(where, content) {
      fake.addFile(where.join('/'), content)
    },
    all: async () => itemsOf(tree),
  }
}

export async function nextcloud(t: Test): Promise<BackEnd> {
  const { files, filesUrl, user, password } = await startNextcloud(t)
  const { tree } = files
  return {
    type: 'webdav',
    adapters: () => [webdavAdapter as AdapterDefinition],
    async config(_, below = '') {
      const path = join(top, below)
      tree.folder(path)
      return { url: `${filesUrl}${path}`, user, password }
    },
    spelled: path => [top, ...segmentsIn(path)],
    async make(where, content) {
      tree.addFile(where.join('/'), content)
    },
    all: async () => itemsOf(tree).filter(({ at }) => at[1] !== '.stowage-unfinished'),
  }
}
