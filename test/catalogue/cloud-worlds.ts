/** Cloud storages on fake servers, which others change directly. */
import type { Test } from 'tap'
import { dropboxAdapter } from '../../adapters/backends/dropbox/index.ts'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { oneDriveAdapter } from '../../adapters/backends/onedrive/index.ts'
import { webdavAdapter } from '../../adapters/backends/webdav/index.ts'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'
import * as dropboxes from '../adapters/dropbox-world.ts'
import * as drives from '../adapters/google-drive-world.ts'
import * as nextclouds from '../adapters/nextcloud-world.ts'
import * as oneDrives from '../adapters/onedrive-world.ts'
import type { FakeServer } from '../servers/cloud/fake-server.ts'
import type { Match } from '../servers/cloud/faults.ts'
import { type FileTree, type Node, segmentsIn } from '../servers/cloud/tree.ts'
import { folderType, type GoogleDrive } from '../servers/google-drive/index.ts'

/** A cloud storage as others use it. Each method may fail where what it does makes no sense. */
export interface CloudWorld {
  adapter: AdapterDefinition
  config: object
  /** The same back end, opened beside the server. */
  provider: StorageProvider
  write(path: string, content: string): unknown
  makeFolder(path: string): unknown
  move(from: string, to: string): unknown
  remove(path: string): unknown
  /** The next responses about changes do not arrive. */
  loseResponses(): void
  /** The back end forgets all positions. */
  expire(): void
}

/** Opens an adapter with tokens of its fake server instead of a person's consent. */
function authorized<Config>(adapter: AdapterDefinition<Config>, issue: () => string): AdapterDefinition {
  const { oauth: _, ...rest } = adapter
  const open = (config: Config, host: Parameters<typeof adapter.open>[1]) =>
    adapter.open(config, { ...host, accessToken: async () => issue() })
  return { ...rest, open } as AdapterDefinition
}

function losing(fake: FakeServer, match: Match): () => void {
  return () => fake.faults.fail({ ...match, reason: 'lost', executed: true, times: 1 })
}

/** Changes what is in the folder `root` of a tree. */
function inTree(tree: FileTree): Pick<CloudWorld, 'write' | 'makeFolder' | 'move' | 'remove'> {
  const top = tree.folder('root')
  const find = (path: string): Node => {
    const node = tree.find(path, top)
    if (!node) throw new Error(`${path} is missing`)
    return node
  }
  const folderOf = (path: string): { parent: Node; name: string } => {
    const names = segmentsIn(path)
    const parent = tree.folder(names.slice(0, -1).join('/'), top)
    if (!parent) throw new Error(`${path} is below a file`)
    return { parent, name: names.at(-1) ?? '' }
  }
  return {
    write(path, content) {
      if (tree.find(path, top)?.children) throw new Error(`${path} is a folder`)
      tree.addFile(path, content, top)
    },
    makeFolder: path => tree.folder(path, top),
    move(from, to) {
      const node = find(from)
      if (`${to}/`.startsWith(`${from}/`) || tree.find(to, top)) throw new Error(`${to} cannot be there`)
      const { parent, name } = folderOf(to)
      for (let above: Node | null = parent; above; above = above.parent) if (above === node) throw new Error('a cycle')
      tree.move(node, parent, name)
    },
    remove: path => tree.remove(find(path)),
  }
}

export async function dropboxWorld(t: Test): Promise<CloudWorld> {
  const { fake, provider, options } = await dropboxes.openWorld(t)
  return {
    adapter: authorized(dropboxAdapter(options), () => fake.oauth.issue()),
    config: { ...dropboxes.configOf(fake), rootFolder: '/root' },
    provider,
    ...inTree(fake.files.tree),
    loseResponses: losing(fake, { path: /list_folder\/get_latest|list_folder\/continue/ }),
    expire: () => fake.lister.reset(),
  }
}

export async function oneDriveWorld(t: Test): Promise<CloudWorld> {
  const { fake, provider, options } = await oneDrives.openWorld(t)
  return {
    adapter: authorized(oneDriveAdapter(options), () => fake.oauth.issue()),
    config: { ...oneDrives.configOf(fake), rootFolder: '/root' },
    provider,
    ...inTree(fake.drive.tree),
    loseResponses: losing(fake, { path: /root\/delta/ }),
    expire: () => fake.expirePages(),
  }
}

export async function webdavWorld(t: Test): Promise<CloudWorld> {
  const { fake, provider } = await nextclouds.openWorld(t, { vendor: 'ownCloud', hasSync: true })
  const { filesUrl, user, password } = fake
  return {
    adapter: webdavAdapter as AdapterDefinition,
    config: { url: `${filesUrl}root`, user, password },
    provider,
    ...inTree(fake.files.tree),
    loseResponses: losing(fake, { method: 'REPORT' }),
    expire: () => fake.expireSync(),
  }
}

/** Files may have the same name there. */
export async function googleDriveWorld(t: Test): Promise<CloudWorld> {
  const { fake, provider, options, rootId } = await drives.openWorld(t)
  const { clientId, clientSecret } = fake.oauth
  return {
    adapter: authorized(googleDriveAdapter(options), () => fake.oauth.issue(fake.account)),
    config: { clientId, clientSecret, rootFolderId: rootId },
    provider,
    ...inDrive(fake, rootId),
    loseResponses: losing(fake, { path: /v3\/changes/ }),
    expire: () => fake.changes.expire(),
  }
}

function inDrive(fake: GoogleDrive, rootId: string): Pick<CloudWorld, 'write' | 'makeFolder' | 'move' | 'remove'> {
  const { store } = fake
  const step = (parent: string, name: string) =>
    store.childrenNamed(parent, name).find(item => !item.explicitlyTrashed)?.id
  const find = (path: string) => {
    let id: string | undefined = rootId
    for (const name of segmentsIn(path)) id = id === undefined ? undefined : step(id, name)
    const item = id === undefined ? undefined : store.items.get(id)
    if (!item || item.id === rootId) throw new Error(`${path} is missing`)
    return item
  }
  const folder = (path: string): string => {
    let id = rootId
    for (const name of segmentsIn(path)) {
      const next = step(id, name)
      if (next !== undefined && store.items.get(next)?.mimeType !== folderType)
        throw new Error(`${path} is below a file`)
      id = next ?? fake.addFolder(id, name).id
    }
    return id
  }
  const split = (path: string) => ({
    parent: segmentsIn(path).slice(0, -1).join('/'),
    name: segmentsIn(path).at(-1) ?? '',
  })
  let removals = 0
  return {
    write(path, content) {
      const { parent, name } = split(path)
      fake.addFile(folder(parent), name, content)
    },
    makeFolder: path => folder(path),
    move(from, to) {
      const item = find(from)
      const { parent, name } = split(to)
      const target = folder(parent)
      const above = store.items.get(target)
      if (!above || target === item.id || store.ancestors(above).includes(item)) throw new Error('a cycle')
      store.rename(item, name)
      if (target !== item.parent) store.move(item, target)
    },
    remove(path) {
      const item = find(path)
      removals += 1
      if (removals % 2 === 0) return store.remove(item)
      item.explicitlyTrashed = true
      store.touch(item)
    },
  }
}
