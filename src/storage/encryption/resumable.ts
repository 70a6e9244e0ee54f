/**
 * Uploads to an encrypted storage that span several requests. The nonce of the file is in the state, so a repeated call sends the same
 * bytes again. A back end that takes parts of one size gets whole ones: the rest of the encrypted bytes stays in the state.
 */

import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { nameOf, type ResumableWrites, type StoragePath, type Unfinished } from '../../../adapters/contract.ts'
import { blockBytes, headerBytes, headerOf, nonceBytes, storedSize } from './blocks.ts'
import { type ContentCipher, DerivedBody } from './content.ts'
import type { StoredEntries } from './entries.ts'
import { otherOffset, uploadNotFound } from './errors.ts'

/** The number of appends that a back end may need for so many of this storage, at least. */
const appendsPerAppend = 1.01

interface UploadState {
  path: StoragePath
  nonce: Buffer
  /** Bytes of the content. */
  offset: number
  /** Encrypted bytes that the back end has. */
  sent: number
  /** Encrypted bytes that it does not have yet. */
  tail: Buffer
  /** The state of the back end. */
  inner: string
}

export function encryptedUploads(
  writes: ResumableWrites,
  { entries, content }: { entries: StoredEntries; content: ContentCipher },
): ResumableWrites {
  /** Returns the encrypted bytes of the next `size` bytes, with those that wait, and their number. */
  const next = ({ nonce, offset, tail }: UploadState, body: Readable, size: number) => ({
    sealed: content.sealed(body, { nonce, first: offset / blockBytes }, tail),
    bytes: tail.length + storedSize(size) - headerBytes,
  })

  return {
    partSize: Math.ceil(writes.partSize / blockBytes) * blockBytes,
    ...(writes.maxAppends !== undefined && { maxAppends: Math.floor(writes.maxAppends / appendsPerAppend) }),

    async begin(path, { mimeType: _type, size, unfinished, ...options }) {
      await entries.refuseOther(path, 'file', { ...options, overwrite: true })
      const nonce = randomBytes(nonceBytes)
      const inner = await entries.creating(path, 'file', stored =>
        writes.begin(stored, {
          ...options,
          ...(size !== undefined && { size: storedSize(size) }),
          ...(unfinished && { unfinished: unfinishedOf(unfinished) }),
        }),
      )
      return formatState({ path, nonce, offset: 0, sent: 0, tail: headerOf(nonce), inner })
    },

    async append(text, body, { signal, offset, size }) {
      try {
        const state = parseState(text)
        if (offset !== state.offset) throw otherOffset(state.offset)
        const { sealed, bytes } = next(state, body, size)
        const sending = Math.floor(bytes / writes.partSize) * writes.partSize
        let tail: Buffer = Buffer.alloc(0)
        const sent = parted(sealed, sending, rest => {
          tail = rest
        })
        const inner = await writes.append(state.inner, sent, { signal, offset: state.sent, size: sending })
        return formatState({ ...state, offset: offset + size, sent: state.sent + sending, tail, inner })
      } catch (error) {
        body.destroy()
        throw error
      }
    },

    async complete(text, body, { signal, offset, size, ...replacing }) {
      try {
        const state = parseState(text)
        if (offset !== state.offset) throw otherOffset(state.offset)
        await entries.refuseOther(state.path, 'file', { signal, ...replacing })
        const { sealed, bytes } = next(state, body, size)
        const options = { signal, ...entries.keepStored(replacing), offset: state.sent, size: bytes }
        return entries.plain(await writes.complete(state.inner, sealed, options), nameOf(state.path))
      } catch (error) {
        body.destroy()
        throw error
      }
    },

    abort: (text, call) => writes.abort(innerOf(text), call),
  }
}

/** Returns a record of writes whose states `abort` understands. */
export function unfinishedOf({ began, ended }: Unfinished): Unfinished {
  return { began: state => began(`\n${state}`), ended: () => ended() }
}

/** Returns a stream of the first `size` bytes, which ends once the rest has arrived. Destroying it destroys the body. */
function parted(body: Readable, size: number, onRest: (rest: Buffer) => void): Readable {
  async function* first(): AsyncGenerator<Uint8Array> {
    let left = size
    const rest: Buffer[] = []
    for await (const chunk of body) {
      if (left > 0) yield chunk.subarray(0, left)
      if (chunk.length > left) rest.push(chunk.subarray(left))
      left -= Math.min(left, chunk.length)
    }
    onRest(Buffer.concat(rest))
  }
  return new DerivedBody(body, first())
}

/** The state of the back end is the rest of the text after the first line, because it may be any text. */
function formatState({ inner, nonce, tail, ...state }: UploadState): string {
  const own = { ...state, nonce: nonce.toString('base64'), tail: tail.toString('base64') }
  return `${JSON.stringify(own)}\n${inner}`
}

/** @throws NOT_FOUND */
function parseState(text: string): UploadState {
  const end = text.indexOf('\n')
  if (end <= 0) throw uploadNotFound()
  const { nonce, tail, ...state } = JSON.parse(text.slice(0, end))
  return { ...state, nonce: Buffer.from(nonce, 'base64'), tail: Buffer.from(tail, 'base64'), inner: innerOf(text) }
}

function innerOf(text: string): string {
  return text.slice(text.indexOf('\n') + 1)
}
