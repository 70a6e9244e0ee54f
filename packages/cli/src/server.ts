/** A server as the commands use it: through the client, with storages by their names and paths as people write them. */
import { type Connection, Stowage, StowageError } from '../../client/src/index.ts'
import type { Credentials } from './credentials.ts'
import { CommandError, exitCodes, notFound } from './errors.ts'
import type { RemoteOperand } from './operand.ts'

/** A provider of the API. */
export interface Storage {
  id: string
  name: string
  status: string
  type: { type: string }
  /** Null if it is not encrypted. */
  encryption: { names: string } | null
}

/** A path of a storage that exists; the path itself may be free. */
export interface RemotePath {
  storage: Storage
  providerId: string
  path: string
  /** Whether the operand ends in `/`. */
  isFolder: boolean
}

/** The facts about an entry that `stat` prints. */
export interface RemoteEntry {
  kind: 'file' | 'folder'
  name: string
  path: string
  size: number | null
  modifiedAt: string | null
  mimeType: string | null
  etag: string | null
  checksums: readonly { algorithm: string; hex: string }[]
  /** The lock that holds for the entry, and the hold, such as one of S3 Object Lock. */
  lock: { holderName: string | null; expiresAt: string } | null
  hold: { path: string; until: string | null; reason: string } | null
}

const storagesQuery = '{ providers { id name status type { type } encryption { names } } }'

const entryQuery = `query Entry($providerId: ID!, $path: String!) {
  entry(providerId: $providerId, path: $path) {
    __typename name path modifiedAt lock { holderName expiresAt } hold { path until reason }
    ... on File { size mimeType etag checksums { algorithm hex } }
  }
}`

/** The fields of files are missing for a folder. */
type EntryResult = {
  entry: Pick<RemoteEntry, 'name' | 'path' | 'modifiedAt' | 'lock' | 'hold'> &
    Partial<Pick<RemoteEntry, 'size' | 'mimeType' | 'etag' | 'checksums'>> & { __typename: string }
}

/** A server with a credential. */
export class Server {
  readonly url: string
  readonly stowage: Stowage
  readonly #signal: AbortSignal
  #storages: Promise<Storage[]> | undefined

  constructor({ url, key }: Credentials, signal: AbortSignal) {
    this.url = url
    this.stowage = new Stowage({ url, credential: key })
    this.#signal = signal
  }

  /** Runs a query or a mutation. @throws StowageError, or the reason of the signal */
  graphql<Result>(document: string, variables: object = {}): Promise<Result> {
    return this.stowage.graphql<Result, object>(document, variables, { signal: this.#signal })
  }

  /** Yields the nodes of a connection, page after page. @throws StowageError, or the reason of the signal */
  nodes<Result, Node>(
    document: string,
    variables: object,
    connectionOf: (result: Result) => Connection<Node>,
  ): AsyncGenerator<Node, void, undefined> {
    return this.stowage.nodes(document, variables, connectionOf, { signal: this.#signal })
  }

  storages(): Promise<Storage[]> {
    this.#storages ??= this.graphql<{ providers: Storage[] }>(storagesQuery).then(({ providers }) => providers)
    return this.#storages
  }

  /** @throws CommandError if there is no such storage */
  async locate({ storage: text, path, isFolder }: RemoteOperand): Promise<RemotePath> {
    const storage = findStorage(await this.storages(), text)
    return { storage, providerId: storage.id, path, isFolder }
  }

  /** Returns the file or folder. @throws StowageError */
  async stat({ providerId, path }: Pick<RemotePath, 'providerId' | 'path'>): Promise<RemoteEntry> {
    const { entry } = await this.graphql<EntryResult>(entryQuery, { providerId, path })
    const {
      __typename,
      name,
      path: found,
      modifiedAt,
      lock,
      hold,
      size = null,
      mimeType = null,
      etag = null,
      checksums = [],
    } = entry
    const kind = __typename === 'File' ? 'file' : 'folder'
    return { kind, name, path: found, size, modifiedAt, mimeType, etag, checksums, lock, hold }
  }

  /** Returns null if nothing exists at the path. @throws StowageError */
  async find(path: Pick<RemotePath, 'providerId' | 'path'>): Promise<RemoteEntry | null> {
    return this.stat(path).catch((error: unknown) => {
      if (error instanceof StowageError && error.code === 'NOT_FOUND') return null
      throw error
    })
  }

  /** Creates a folder with its parents. Returns false if the name is taken. @throws StowageError */
  async createFolder({ providerId, path }: Pick<RemotePath, 'providerId' | 'path'>): Promise<boolean> {
    const document = 'mutation Make($input: CreateFolderInput!) { createFolder(input: $input) { path } }'
    try {
      await this.graphql(document, { input: { providerId, path } })
      return true
    } catch (error) {
      if (error instanceof StowageError && error.reason === 'ALREADY_EXISTS') return false
      throw error
    }
  }

  /** @throws StowageError */
  async delete(
    { providerId, path }: Pick<RemotePath, 'providerId' | 'path'>,
    options: { recursive?: boolean; permanent?: boolean },
  ): Promise<void> {
    const document = 'mutation Delete($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
    await this.graphql(document, { input: { providerId, path, ...options } })
  }
}

/** Finds a storage by its name or its ID. @throws CommandError if there is none, or several have the name */
function findStorage(storages: readonly Storage[], text: string): Storage {
  const identified = storages.find(({ id }) => id === text)
  if (identified) return identified
  const [found, ...others] = storages.filter(({ name }) => name === text)
  if (!found) throw notFound(`There is no storage "${text}". "stowage ls" lists the storages.`)
  if (others.length === 0) return found
  const ids = [found, ...others].map(({ id, type }) => `${id}: (${type.type})`).join(', ')
  const message = `Several storages have the name "${text}". Write the ID instead: ${ids}.`
  throw new CommandError(message, 'AMBIGUOUS_STORAGE', exitCodes.usage.code)
}

/** Returns the path as a person writes it. */
export function display({ storage, path }: Pick<RemotePath, 'storage' | 'path'>): string {
  return `${storage.name}:${path}`
}

/** Returns the path of an entry in a folder. */
export function childPath(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}

/** Returns the last name of a path; '' for the root. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Returns the folder of a path; `/` for the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}
