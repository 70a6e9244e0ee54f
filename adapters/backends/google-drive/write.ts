import { addAbortSignal, type Readable } from 'node:stream'
import { type Chunk, chunksOf, endedEarly } from '../../bases/cloud/chunks.ts'
import type { WriteOptions } from '../../bases/cloud/provider.ts'
import { StorageError } from '../../contract.ts'
import { Destination, fileToWrite, refuseOver, settleNew, type Tree } from './destination.ts'
import type { DriveFile } from './names.ts'
import { toStored } from './names.ts'
import { chunkSize, multipartLimit, UploadSession, uploadWhole, type WrittenFile } from './upload.ts'

type NewFileOptions = Omit<WriteOptions, 'path'>

/** Writes one file. Drive has no atomic create, so the write looks for other files of the name before and after. */
export class Write {
  readonly #tree: Tree
  readonly #segments: readonly string[]
  readonly #options: NewFileOptions
  readonly #destination: Destination
  #session: UploadSession | undefined
  /** The id of a new file, set before the request that may create it. */
  #creating: string | undefined

  constructor(tree: Tree, segments: readonly string[], options: NewFileOptions) {
    this.#tree = tree
    this.#segments = segments
    this.#options = options
    this.#destination = new Destination(tree, segments, options.signal)
  }

  async run(body: Readable): Promise<DriveFile> {
    const { signal } = this.#options
    try {
      return await this.#store(chunksOf(addAbortSignal(signal, body), chunkSize))
    } catch (error) {
      body.destroy()
      await this.#session?.abort()
      if (this.#creating !== undefined) await this.#tree.files.undo(this.#creating)
      await this.#destination.undo()
      throw signal.aborted ? signal.reason : error
    } finally {
      this.#destination.release()
    }
  }

  /** Sends no request before the first chunk is complete: a small file needs no session. */
  async #store(chunks: ReturnType<typeof chunksOf>): Promise<DriveFile> {
    const { files } = this.#tree
    const { signal, size, overwrite } = this.#options
    let upload: { written: WrittenFile; session: UploadSession } | undefined
    for await (const chunk of chunks) {
      if (!upload && chunk.isLast && chunk.bytes.length <= multipartLimit) {
        return await this.#exclusively(async (parent, existing) => {
          const written = await this.#fileToWrite(existing, parent)
          if (written.isNew) this.#creating = written.id
          return await this.#settle(written, parent, await uploadWhole(files, written, chunk.bytes, signal))
        })
      }
      if (!upload) {
        const { parent, existing } = await this.#destination.prepare()
        refuseOver(existing, overwrite)
        const written = await this.#fileToWrite(existing, parent)
        if (size !== undefined) await files.refuseTooLarge(size, signal)
        upload = { written, session: await UploadSession.begin(files, written, signal) }
        this.#session = upload.session
      }
      const { written, session } = upload
      if (!chunk.isLast) await session.send(chunk, signal)
      else return await this.#exclusively((parent, existing) => this.#finish(written, session, chunk, parent, existing))
    }
    throw endedEarly()
  }

  async #finish(
    written: WrittenFile,
    session: UploadSession,
    chunk: Chunk,
    parent: string,
    existing: DriveFile | undefined,
  ): Promise<DriveFile> {
    const begunIn = written.metadata.parents?.[0]
    if (written.isNew) this.#creating = written.id
    else if (existing?.id !== written.id) throw displaced()
    const file = await session.send(chunk, this.#options.signal)
    if (!file) throw new StorageError('UNAVAILABLE', 'Google Drive did not finish the upload: try again.')
    this.#session = undefined
    return await this.#settle(written, begunIn ?? parent, file)
  }

  async #exclusively(
    work: (parent: string, existing: DriveFile | undefined) => Promise<DriveFile>,
  ): Promise<DriveFile> {
    return await this.#destination.exclusively(({ parent, existing }) => {
      refuseOver(existing, this.#options.overwrite)
      return work(parent, existing)
    })
  }

  #fileToWrite(existing: DriveFile | undefined, parent: string): Promise<WrittenFile> {
    const name = () => toStored(this.#segments.at(-1) ?? '')
    return fileToWrite(this.#tree.files, { existing, parent, name }, this.#options)
  }

  async #settle(written: WrittenFile, parent: string, file: DriveFile): Promise<DriveFile> {
    if (!written.isNew) {
      if (file.trashed || (file.parents && !file.parents.includes(parent))) throw displaced()
      return file
    }
    const { overwrite, signal } = this.#options
    return await settleNew(this.#tree, file, { segments: this.#segments, parent, overwrite, signal })
  }
}

const displaced = () =>
  new StorageError('UNAVAILABLE', 'The file was moved or deleted while it was being replaced: try again.')
