/** The memory of requests: bodies that are being parsed, and responses that clients have not read yet. */
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../auth/network.ts'
import type { Viewer } from '../auth/viewer.ts'
import { AppError } from '../errors.ts'
import { ByteBudget } from '../lib/byte-budget.ts'
import { ClientGone, exchangeOf } from './connection/client-abort.ts'

const mib = 1024 * 1024

/** All credentials of a member count together. */
const members = new ByteBudget({ total: 128 * mib, ofOwner: 32 * mib, guaranteed: mib / 4 })
/** Networks of clients without an account. The recipients of a share link count here, so that they cannot block its creator. */
const networks = new ByteBudget({ total: 64 * mib, ofOwner: 16 * mib })

/** Bytes of a body or a response that are not counted. The bound on the slots of an owner covers them. */
export const freeBytes = 16 * 1024
/** Bytes that a growing response takes at a time. */
const step = 64 * 1024
/** Milliseconds after which a client that was refused memory should try again. */
const retryAfterMs = 5000
/** Milliseconds for a client to read a response that counts. */
const readTimeout = 5 * 60_000

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until the request takes memory: see `memoryOf`. */
    memory: RequestMemory | null
  }
}

/** Returns the name under which the requests of a client are counted. */
export function ownerOf(viewer: Viewer | null, ip: string): string {
  return viewer && !viewer.shared ? viewer.member.userId : networkOf(ip)
}

/** The memory that one request takes. */
export class RequestMemory {
  readonly #budget: ByteBudget
  readonly #owner: string
  readonly #onFirst: () => void
  #taken = 0
  #body = 0
  #response = 0
  #isReleased = false

  /** @param onFirst runs when the request takes memory for the first time */
  constructor(viewer: Viewer | null, ip: string, onFirst: () => void = () => {}) {
    this.#budget = viewer && !viewer.shared ? members : networks
    this.#owner = ownerOf(viewer, ip)
    this.#onFirst = onFirst
  }

  get isTaken(): boolean {
    return this.#taken > 0
  }

  /** @param bytes the largest size that the body can have @throws RATE_LIMITED, UNAVAILABLE, ClientGone */
  takeBody(bytes: number): void {
    if (bytes <= freeBytes) return
    this.#take(bytes)
    this.#body += bytes
  }

  /** Gives back what the body does not need. @param bytes the size of the body, or 0 when nobody needs it anymore */
  keepBody(bytes: number): void {
    const unused = this.#isReleased ? 0 : Math.max(0, this.#body - bytes)
    this.#budget.release(this.#owner, unused)
    this.#body -= unused
    this.#taken -= unused
  }

  /** Takes what is missing for a response of at least this size. @throws RATE_LIMITED, UNAVAILABLE, ClientGone */
  growResponse(bytes: number): void {
    const missing = bytes - freeBytes - this.#response
    if (missing <= 0) return
    const more = Math.ceil(missing / step) * step
    this.#take(more)
    this.#response += more
  }

  release(): void {
    this.#isReleased = true
    this.#budget.release(this.#owner, this.#taken)
    this.#taken = 0
  }

  #take(bytes: number): void {
    if (this.#isReleased) throw new ClientGone('The request has ended')
    const refusal = this.#budget.tryTake(this.#owner, bytes)
    if (refusal) throw tooMuch(refusal, this.#budget.bounds.ofOwner)
    const isFirst = this.#taken === 0
    this.#taken += bytes
    // If the client has disconnected already, this releases what was taken.
    if (isFirst) this.#onFirst()
  }
}

function tooMuch(owner: 'owner' | 'all', ofOwner: number): AppError {
  if (owner === 'owner') {
    const message = `You have ${ofOwner / mib} MiB of requests and responses that are not complete: read the responses before you send more, or ask for smaller pages.`
    return new AppError('RATE_LIMITED', message, { retryAfterMs })
  }
  const message = 'The server has too many large requests and responses: try again in a few seconds.'
  return new AppError('UNAVAILABLE', message, { retryAfterMs })
}

const shared = new WeakSet<Uint8Array>()

/** Returns a payload that any number of responses share, so that it is not counted for each. */
export function sharedPayload(text: string): Buffer {
  const bytes = Buffer.from(text)
  shared.add(bytes)
  return bytes
}

/** Returns the memory of a request, which is released when the client has read the response or has disconnected. */
export function memoryOf(request: FastifyRequest): RequestMemory {
  request.memory ??= new RequestMemory(request.viewer, request.ip, () =>
    exchangeOf(request.raw).atEnd(() => request.memory?.release()),
  )
  return request.memory
}

/**
 * Counts a response that is sent as a whole. Returns the payload outside of V8's heap if it is long, because it may wait for
 * the client.
 * @throws RATE_LIMITED, UNAVAILABLE
 */
export function countPayload(request: FastifyRequest, payload: unknown): unknown {
  const isText = typeof payload === 'string'
  if (!isText && !(payload instanceof Uint8Array && !shared.has(payload))) return payload
  if (payload.length <= freeBytes && !request.memory?.isTaken) return payload
  const bytes = isText ? Buffer.from(payload) : payload
  memoryOf(request).growResponse(bytes.length)
  if (request.memory?.isTaken) closeIfUnread(request)
  return bytes
}

/** Closes the connection of a client that does not read its response in time. */
function closeIfUnread(request: FastifyRequest): void {
  const timer = setTimeout(() => request.raw.socket.destroy(), readTimeout).unref()
  exchangeOf(request.raw).atEnd(() => clearTimeout(timer))
}
