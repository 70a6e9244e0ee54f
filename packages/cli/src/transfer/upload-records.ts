/** Remembers unfinished uploads, so that the same command continues them after it was interrupted or killed. */
import { createHash } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Environment, readPrivateFile, stateFolder, writePrivateFile } from '../private-files.ts'

/** An upload is identified by the server, the target with its conflict option, and the local file. */
export type UploadIdentity = readonly string[]

interface UploadRecord {
  /** The address of the upload on the server. */
  url: string
  /** The version of the local file: its bytes must not have changed. */
  version: string
}

/** Milliseconds after which a server has forgotten an upload, with a reserve. */
const maxAge = 48 * 3600 * 1000

export class UploadRecords {
  readonly #folder: string
  #swept: Promise<void> | undefined

  constructor(environment: Environment) {
    this.#folder = join(stateFolder(environment), 'uploads')
  }

  async find(identity: UploadIdentity): Promise<UploadRecord | null> {
    const text = await readPrivateFile(this.#pathOf(identity))
    if (text === null) return null
    try {
      const { url, version } = JSON.parse(text) as Partial<UploadRecord>
      return typeof url === 'string' && typeof version === 'string' ? { url, version } : null
    } catch {
      return null
    }
  }

  async store(identity: UploadIdentity, record: UploadRecord): Promise<void> {
    this.#swept ??= this.#sweep()
    await this.#swept
    await writePrivateFile(this.#pathOf(identity), `${JSON.stringify(record)}\n`)
  }

  async forget(identity: UploadIdentity): Promise<void> {
    await rm(this.#pathOf(identity), { force: true })
  }

  #pathOf(identity: UploadIdentity): string {
    const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex')
    return join(this.#folder, `${hash}.json`)
  }

  /** Deletes old records. */
  async #sweep(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => [])
    const paths = names.map(name => join(this.#folder, name))
    await Promise.all(
      paths.map(async path => {
        const stats = await stat(path).catch(() => null)
        if (stats && Date.now() - stats.mtimeMs > maxAge) await rm(path, { force: true })
      }),
    )
  }
}
