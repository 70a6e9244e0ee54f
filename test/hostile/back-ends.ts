/**
 * The back ends under test. A provider covers a part of each, with canaries inside and around that part. `all` reads the back
 * end without the adapter.
 */
import { chmod, lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import type { Test } from 'tap'
import { azureBlobAdapter } from '../../adapters/backends/azure-blob/index.ts'
import { ftpAdapter } from '../../adapters/backends/ftp/index.ts'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import { toStored } from '../../adapters/backends/google-drive/names.ts'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { memoryAdapter } from '../../adapters/backends/memory/index.ts'
import { s3Adapter } from '../../adapters/backends/s3/index.ts'
import { sftpAdapter } from '../../adapters/backends/sftp/index.ts'
import { webdavAdapter } from '../../adapters/backends/webdav/index.ts'
import { get, listAll, put } from '../../adapters/conformance/kit.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { azureConfigFor } from '../adapters/azure-provider.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { configFor } from '../adapters/s3-provider.ts'
import { base } from '../matrix/world.ts'
import { azureServer } from '../servers/azurite.ts'
import { folderType, startGoogleDrive } from '../servers/google-drive/index.ts'
import { startProftpd } from '../servers/proftpd.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startSshd } from '../servers/sshd.ts'
import { startApache } from '../servers/webdav.ts'
import { smbAdapter } from '../support/smb-adapter.ts'

/** An entry of the back end. `at` is its path from the top of the back end. */
export interface Item {
  at: readonly string[]
  /** `folder`, or a text that identifies the file and its version. */
  is: string
}

export interface BackEnd {
  type: string
  /** True where names are not case-sensitive. */
  foldsCase?: boolean
  /** How the provider encrypts. Default: not at all. */
  encryption?: object
  /** The adapters of the server. @param folder an empty folder on disk */
  adapters(folder: string): readonly AdapterDefinition[]
  /** @param below a path below the provider's root, for a provider whose root is there: some back ends make that folder */
  config(folder: string, below?: string): Promise<object>
  /** Translates a path of the provider into a path of the back end. The empty path is the provider's root. */
  spelled(path: string): readonly string[]
  /** Writes a file as another client would. Names can be any text that the back end accepts. */
  make(at: readonly string[], content: string): Promise<void>
  all(): Promise<Item[]>
}

export const secret = 'canary-content'
const top = 'provider'
const segments = (path: string) => path.split('/').filter(name => name !== '')
/** Files of the provider outside the base path. */
const outsideBase = [
  ['canary-documents', 'seed.txt'],
  ['team', 'seed.txt'],
  ['team', 'backups-old', 'seed.txt'],
  ['team', 'Backups', 'seed.txt'],
  ['team', 'canary-beside', 'seed.txt'],
  ['seed.txt'],
]
const outsideProvider = [
  ...outsideBase.map(at => [`${top}-old`, ...at]),
  ...outsideBase,
  ['etc', 'passwd'],
  ['seed.txt'],
]

/** Creates the files that every test expects. */
export async function seed({ make, spelled, foldsCase }: BackEnd): Promise<void> {
  const isBase = (at: readonly string[]) => foldsCase && `/${at.join('/')}/`.toLowerCase().startsWith(`${base}/`)
  for (const at of outsideBase.filter(at => !isBase(at)))
    await make([...spelled(''), ...at], `${secret} ${at.join('/')}`)
  if (spelled('').length > 0) for (const at of outsideProvider) await make(at, `${secret} outside ${at.join('/')}`)
  for (const name of ['seed.txt', 'deep/seed.txt']) await make(spelled(`${base}/${name}`), 'inside')
}

export async function memory(): Promise<BackEnd> {
  const provider = await memoryAdapter.open({ maxBytes: 64 * 1024 * 1024 }, undefined as never)
  const walk = async (path: string): Promise<Item[]> => {
    const entries = await listAll(provider, path)
    const items = entries.map(async ({ name, kind }) => {
      const below = path === '' ? name : `${path}/${name}`
      if (kind === 'directory') return [{ at: below.split('/'), is: 'folder' }, ...(await walk(below))]
      return [{ at: below.split('/'), is: (await get(provider, below)).toString() }]
    })
    return (await Promise.all(items)).flat()
  }
  return {
    type: 'memory',
    adapters: () => [{ ...memoryAdapter, open: async () => provider } as AdapterDefinition],
    config: async () => ({}),
    spelled: segments,
    make: (where, content) => put(provider, where.join('/'), content, true).then(() => {}),
    all: () => walk(''),
  }
}

export function local(): BackEnd {
  let folder = ''
  return {
    type: 'local',
    adapters: roots => [localAdapter({ localRoots: [roots], dataFolder: '/nowhere' }) as AdapterDefinition],
    async config(given, below = '') {
      folder = given
      const root = join(folder, top, below)
      await mkdir(root, { recursive: true })
      return { root }
    },
    spelled: path => [top, ...segments(path)],
    async make(where, content) {
      const path = join(folder, ...where.slice(0, -1))
      await mkdir(path, { recursive: true })
      await writeFile(`${path}/${where.at(-1)}`, content)
    },
    all: () => filesBelow(folder),
  }
}

async function filesBelow(folder: string): Promise<Item[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const items = entries.map(async entry => {
    const path = join(entry.parentPath, entry.name)
    return { at: path.slice(folder.length + 1).split('/'), is: await describe(path) }
  })
  return (await Promise.all(items)).filter(({ at }) => at[1] !== '.stowage-staging')
}

async function describe(path: string): Promise<string> {
  const stats = await lstat(path)
  const { ino, mode, mtimeMs } = stats
  if (stats.isDirectory()) return 'folder'
  if (stats.isSymbolicLink()) return `link to ${await readlink(path)}`
  return stats.isFile() ? `${ino} ${mtimeMs} ${await readFile(path, 'utf8')}` : `special ${mode} ${ino}`
}

/**
 * A back end whose server stores files in a folder of this machine.
 * @param config returns the configuration for a path below that folder
 */
function onDisk(type: string, adapter: AdapterDefinition, root: string, config: (path: string) => object): BackEnd {
  return {
    type,
    adapters: () => [adapter],
    async config(_, below = '') {
      const path = join(top, below)
      await mkdir(join(root, path), { recursive: true })
      return config(path)
    },
    spelled: path => [top, ...segments(path)],
    async make(where, content) {
      const path = join(root, ...where.slice(0, -1))
      await mkdir(path, { recursive: true })
      await writeFile(`${path}/${where.at(-1)}`, content)
    },
    all: () => filesBelow(root),
  }
}

/** The folder of the test is a share with the names of Windows. */
export function smb(traits?: Parameters<typeof smbAdapter>[0]): BackEnd {
  let share = ''
  return {
    type: 'smb-like',
    adapters: () => [smbAdapter(traits) as AdapterDefinition],
    async config(given, below = '') {
      share = given
      await mkdir(join(share, top, below), { recursive: true })
      return { share, folder: join(top, below) }
    },
    spelled: path => [top, ...segments(path)],
    async make(where, content) {
      await mkdir(join(share, ...where.slice(0, -1)), { recursive: true })
      await writeFile(join(share, ...where), content)
    },
    all: () => filesBelow(share),
  }
}

export async function ftp(t: Test): Promise<BackEnd> {
  const { host, port, user, password, fingerprint, root } = await startProftpd(t)
  return onDisk('ftp', ftpAdapter as AdapterDefinition, root, path => {
    return { host, port, user, password, fingerprint, folder: `/${path}` }
  })
}

export async function sftp(t: Test): Promise<BackEnd> {
  const { host, port, user, privateKey, passphrase, hostKey, root } = await startSshd(t)
  return onDisk('sftp', sftpAdapter as AdapterDefinition, root, path => {
    return { host, port, user, privateKey, passphrase, hostKey, folder: join(root, path) }
  })
}

export async function webdav(t: Test): Promise<BackEnd> {
  const { url, user, password, root } = await startApache(t)
  const backEnd = onDisk('webdav', webdavAdapter as AdapterDefinition, root, path => {
    return { url: `${url}${path}`, user, password }
  })
  // The server runs as another user than the test.
  const share = async (where: readonly string[]) => {
    for (let depth = 0; depth <= where.length; depth += 1) await chmod(join(root, ...where.slice(0, depth)), 0o777)
  }
  return {
    ...backEnd,
    async config(folder, below = '') {
      const config = await backEnd.config(folder, below)
      await share([top, ...segments(below)])
      return config
    },
    async make(where, content) {
      await backEnd.make(where, content)
      await share(where.slice(0, -1))
    },
  }
}

export async function s3(t: Test): Promise<BackEnd> {
  const server = await s3Server(t)
  const bucket = await server.newBucket()
  return {
    type: 's3',
    adapters: () => [s3Adapter as AdapterDefinition],
    config: async (_, below = '') => configFor(server, bucket, { prefix: join(top, below) }),
    spelled: path => [top, ...segments(path)],
    async make(where, Body) {
      await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: where.join('/'), Body }))
    },
    async all() {
      const items: Item[] = []
      for (let token: string | undefined, isFirst = true; isFirst || token; isFirst = false) {
        const page = await server.client.send(
          new ListObjectsV2Command({ Bucket: bucket, EncodingType: 'url', ...(token && { ContinuationToken: token }) }),
        )
        for (const { Key = '', ETag, LastModified } of page.Contents ?? []) {
          const key = decodeURIComponent(Key.replaceAll('+', ' '))
          const isFolder = key.endsWith('/')
          const where = (isFolder ? key.slice(0, -1) : key).split('/')
          items.push({ at: where, is: isFolder ? 'folder' : `${ETag} ${LastModified?.getTime()}` })
        }
        token = page.NextContinuationToken
      }
      return items
    },
  }
}

export async function azureBlob(t: Test): Promise<BackEnd> {
  const server = await azureServer(t)
  const container = await server.newContainer()
  return {
    type: 'azure-blob',
    adapters: () => [azureBlobAdapter() as AdapterDefinition],
    config: async (_, below = '') => azureConfigFor(server, container.containerName, { prefix: join(top, below) }),
    spelled: path => [top, ...segments(path)],
    async make(where, content) {
      await container.getBlockBlobClient(where.join('/')).upload(content, Buffer.byteLength(content))
    },
    async all() {
      const items: Item[] = []
      for await (const { name, metadata, properties } of container.listBlobsFlat({ includeMetadata: true })) {
        const is = metadata?.hdi_isfolder ? 'folder' : `${properties.etag}`
        items.push({ at: name.split('/'), is })
      }
      return items
    },
  }
}

export async function googleDrive(t: Test): Promise<BackEnd> {
  const fake = await startGoogleDrive(t)
  const serviceAccountKey = fake.oauth.addServiceAccount('robot@fake.iam.gserviceaccount.com')
  const account = 'robot@fake.iam.gserviceaccount.com'
  const root = fake.store.rootOf(account)
  const folderAt = (where: readonly string[]): string => {
    let parent = root
    for (const name of where) {
      const found = fake.store.childrenOf(parent).find(item => item.name === name && item.mimeType === folderType)
      parent = (found ?? fake.addFolder(parent, name, { owner: account })).id
    }
    return parent
  }
  const pathOf = (id: string): string[] => {
    const item = fake.store.items.get(id)
    return !item || item.parent === null ? [] : [...pathOf(item.parent), item.name]
  }
  return {
    type: 'google-drive',
    adapters: () => [googleDriveAdapter({ endpoints: endpointsOf(fake), backoff, trust: 0 }) as AdapterDefinition],
    config: async (_, below = '') => ({ serviceAccountKey, rootFolderId: folderAt([top, ...segments(below)]) }),
    spelled: path => [top, ...segments(path).map(toStored)],
    async make(where, content) {
      fake.addFile(folderAt(where.slice(0, -1)), where.at(-1) ?? '', content, { owner: account })
    },
    async all() {
      const items = [...fake.store.items.values()].filter(({ id }) => id !== root)
      return items.map(({ id, mimeType, content, modifiedTime, explicitlyTrashed }) => {
        const what = `${content?.md5} ${modifiedTime}`
        return {
          at: pathOf(id),
          is: `${explicitlyTrashed ? 'trashed ' : ''}${mimeType === folderType ? 'folder' : what}`,
        }
      })
    },
  }
}
