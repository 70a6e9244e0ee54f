/** Resumable uploads for servers that write into a file from an offset on. */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Call, Entry, ResumableWrites, StoragePath } from '../../contract.ts'
import { requireBytes, requireOffset, uploadNotFound } from '../errors.ts'
import { parseJson } from '../upload-state.ts'
import { isRefusal } from './errors.ts'
import type { PlainFiles } from './files.ts'
import { withSource } from './source.ts'
import { type Staging, stagedAt, uploadPrefix } from './staging.ts'

interface State {
  path: StoragePath
  /** The name of the unfinished file. */
  name: string
  /** The number of bytes that the server has confirmed. */
  offset: number
  /** The modification time of the file, in milliseconds. */
  time?: number
}

const namePattern = /^upload-[0-9a-f-]{36}$/

type Append = NonNullable<PlainFiles['append']>

/** @param publish makes an unfinished file visible */
export function resumableWrites(
  files: PlainFiles & { append: Append },
  staging: Staging,
  publish: (staged: StoragePath, path: StoragePath, options: Call & { overwrite: boolean }) => Promise<Entry>,
): ResumableWrites {
  /** Adds a body to the unfinished file. Returns its path and its size. */
  const add = (
    text: string,
    body: Readable,
    { signal, offset, size, isLast }: Call & { offset: number; size: number; isLast: boolean },
  ) =>
    withSource(body, signal, async source => {
      signal.throwIfAborted()
      const state = parse(text)
      requireOffset(offset, state.offset)
      const staged = stagedAt(state.name)
      const found = await files.find(staged, { signal })
      if ((found?.size ?? -1) < offset) throw uploadNotFound()
      const time = isLast && state.time !== undefined && { modifiedAt: new Date(state.time) }
      await files.append(staged, source.stream, { signal, offset, ...time })
      requireBytes(source.sent, size)
      return { state: { ...state, offset: offset + size }, staged }
    })
  return {
    partSize: 1,

    async begin(path, { signal, modifiedAt }) {
      const name = `${uploadPrefix}${randomUUID()}`
      await staging.fill({ signal }, name, staged =>
        files.append(staged, Readable.from([], { objectMode: false }), { signal, offset: 0 }),
      )
      const time = modifiedAt && files.traits.keepsModifiedAt ? { time: modifiedAt.getTime() } : {}
      return JSON.stringify({ path, name, offset: 0, ...time } satisfies State)
    },

    append: async (text, body, options) => JSON.stringify((await add(text, body, { ...options, isLast: false })).state),

    async complete(text, body, { signal, overwrite, ...range }) {
      const { state, staged } = await add(text, body, { signal, ...range, isLast: true })
      await staging.check(staged, state.offset, { signal })
      return await publish(staged, state.path, { signal, overwrite })
    },

    async abort(text, { signal }) {
      const staged = stagedAt(parse(text).name)
      await files.removeFile(staged, { signal }).catch(async error => {
        if (!isRefusal(error) || (await files.find(staged, { signal }))) throw error
      })
    },
  }
}

/** @throws NOT_FOUND */
function parse(text: string): State {
  const { path, name, offset, ...rest } = parseJson(text)
  const isNamed = typeof name === 'string' && namePattern.test(name)
  if (isNamed && typeof path === 'string' && Number.isSafeInteger(offset))
    return { ...rest, path, name, offset } as State
  throw uploadNotFound()
}
