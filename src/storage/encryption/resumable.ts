/**
 * Uploads to an encrypted storage that span several requests. The nonce of the file is in the state, so a repeated call sends the same
 * bytes again. Where the back end takes only multiples of a size, the rest of the encrypted bytes stays in the state.
 */

import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { nameOf, type ResumableWrites, type StoragePath, type Unfinished } from '../../../adapters/contract.ts'
import { type LargeStates, stateLimit } from '../resumable-write.ts'
import { blockBytes, headerBytes, headerOf, storedSize } from './blocks.ts'
import { type ContentCipher, DerivedBody } from './content.ts'
import type { StoredEntries } from './entries.ts'
import { otherOffset, uploadNotFound } from './errors.ts'
import { nonceBytes } from './secretbox.ts'

/** Parts of the back end for each append: more than one, because a back end may cut the last bytes of a file into two parts. */
const partsPerAppend = 1.01
/** Bytes. The largest `partMultiple` of a back end for which the state holds the bytes between two appends. Google Drive has 256 KiB. */
const maxMultiple = 320 * 1024
/** Bytes of a state without its `tail`: those of the state of the back end, and of a path of which JSON may escape each byte. */
const usualStateBytes = 64 * 1024

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

/** Returns null if the state would have to hold too many bytes. The host then keeps the whole upload until it is complete. */
export function encryptedUploads(
  writes: ResumableWrites,
  { entries, content }: { entries: StoredEntries; content: ContentCipher },
): LargeStates | null {
  const { partSize, partMultiple: multiple = partSize, maxAppends } = writes
  if (multiple > maxMultiple) return null
  /** Returns the encrypted bytes of the next `size` bytes, with those that wait, and their number. */
  const next = ({ nonce, offset, tail }: UploadState, body: Readable, size: number) => ({
    sealed: content.sealed(body, { nonce, first: offset / blockBytes }, tail),
    bytes: tail.length + storedSize(size) - headerBytes,
  })

  return {
    // The encrypted bytes of such a part are more, and so enough for the back end.
    partSize: Math.ceil(partSize / blockBytes) * blockBytes,
    partMultiple: blockBytes,
    ...(maxAppends !== undefined && { maxAppends: Math.floor(maxAppends / partsPerAppend) }),
    [stateLimit]: usualStateBytes + Math.ceil((multiple + headerBytes) / 3) * 4,

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
        // As many bytes as the header has always wait, so that all parts have one length although only the first follows the header.
        const sending = Math.floor((bytes - headerBytes) / multiple) * multiple
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
