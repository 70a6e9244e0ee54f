/**
 * Decides what may be read from a request, and when. A request is authenticated by its headers and authorized by its route.
 * Then it gets a slot of its member, or of its network if it has no account, and memory for its body. Only then is the body
 * read. No other code reads a body into memory.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../auth/viewer.ts'
import { AppError } from '../errors.ts'
import { FairQueue, type QueueSlot } from '../lib/fair-queue.ts'
import { settle } from '../lib/settle.ts'
import { exchangeOf, requestSignal } from './connection/client-abort.ts'
import { countPayload, freeBytes, memoryOf, ownerOf } from './memory.ts'

/** Throws unless the request may send a body, as far as its URL and its headers tell. */
export type Authorize = (request: FastifyRequest, reply: FastifyReply) => unknown

/** Serves a request that is authorized, when its body is read. */
export type Serve = () => Promise<unknown>

/** Makes the two steps of a route from a function that finds and authorizes what a request asks for. */
export function inTwoSteps(open: (request: FastifyRequest, reply: FastifyReply) => Promise<Serve>) {
  const prepared = new WeakMap<FastifyRequest, { viewer: Viewer | null; serve: Serve }>()
  return {
    async authorize(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const serve = await open(request, reply)
      prepared.set(request, { viewer: request.viewer, serve })
    },
    async handler(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
      const known = prepared.get(request)
      // The rights of the viewer were read again if the body took long.
      const serve = known?.viewer === request.viewer ? known.serve : await open(request, reply)
      return serve()
    },
  }
}

/** How a route reads the bodies of its requests. Any other route reads none. */
export type BodyRule =
  /** The route reads a file from the body as a stream, so only the limits of uploads apply to its size and time. */
  | { kind: 'file'; authorize: Authorize }
  /** The body is read into memory, and becomes `request.body`. */
  | {
      kind: 'parsed'
      maxBytes: number
      authorize: Authorize
      /** The only media type that the route accepts. Default: any. */
      type?: string
      /** Returns whether the body of this request is a file in a form instead. */
      isFile?: (request: FastifyRequest) => boolean
    }

declare module 'fastify' {
  interface FastifyContextConfig {
    body?: BodyRule
  }
  interface FastifyRequest {
    /** Null before the request is admitted and after it has ended, and for files. */
    slot: QueueSlot | null
  }
}

/** Bytes of a body that no route reads. */
export const defaultBodyLimit = freeBytes

const refusal = 'You have too many requests in progress'
/** The requests that are in progress, without those that send or receive files and events. The others wait for their turn. */
const bounds = {
  running: 512,
  runningOfOwner: 64,
  slots: 5000,
  slotsOfOwner: 1000,
  refusals: { owner: refusal, all: 'The server has too many requests in progress' },
}
/** Milliseconds that a request waits for its turn. */
const maxWait = 30_000

/** Registers the hooks. Call this before any other hook is added, so that bodies are admitted before they are bounded. */
export function admitRequests(app: FastifyInstance): void {
  const queue = new FairQueue(bounds)
  app.decorateRequest('slot', null)
  app.decorateRequest('memory', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage, done) => {
    const { config, bodyLimit } = request.routeOptions
    if (!isParsed(request, config)) return done(null, undefined)
    readBody(payload, bodyLimit, app.bodyTimeout, (error, body) => {
      if (body) request.memory?.keepBody(body.length)
      done(error, body)
    })
  })
  app.addHook('onRoute', route => {
    const rule = route.config?.body
    if (!rule) {
      if (route.bodyLimit !== undefined) throw new Error(`${route.url} needs a rule for its bodies`)
      return
    }
    const hooks = [route.onRequest ?? []].flat()
    route.onRequest = [...hooks, async (request, reply) => void (await rule.authorize(request, reply))]
    if (rule.kind !== 'parsed') return
    route.bodyLimit = rule.maxBytes
    if (rule.type !== undefined) route.onRequest.push(requireType(rule.type))
  })
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { config, bodyLimit } = request.routeOptions
    if (config?.unlimited || isFile(request, config)) return done(null, payload)
    try {
      request.slot = queue.enter(ownerOf(request.viewer, request.ip))
      exchangeOf(request.raw).atEnd(() => releaseSlot(request))
      if (isParsed(request, config)) memoryOf(request).takeBody(Math.min(bodyLength(request, bodyLimit), bodyLimit))
    } catch (error) {
      return done(error as Error)
    }
    done(null, payload)
  })
  // The work begins only now, so that bodies that arrive slowly keep nobody waiting.
  app.addHook('preValidation', (request, _reply, done) => {
    const { slot } = request
    try {
      if (slot && !slot.begin()) void settle(waitFor(slot, requestSignal(request)), done)
      else done()
    } catch (error) {
      done(error as Error)
    }
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    // The slot itself counts until the client has read the response.
    request.slot?.end()
    try {
      done(null, countPayload(request, payload))
    } catch (error) {
      done(error as Error)
    }
  })
}

async function waitFor(slot: QueueSlot, gone: AbortSignal): Promise<void> {
  const late = new AbortController()
  const timer = setTimeout(
    () =>
      late.abort(new AppError('RATE_LIMITED', `${refusal}: try again when some have ended.`, { retryAfterMs: 5000 })),
    maxWait,
  )
  try {
    await slot.wait(AbortSignal.any([gone, late.signal]))
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Lets a route write its response itself, as a stream that does not take part in the bounds of requests in progress.
 * @param bytes the memory that the stream takes
 * @throws RATE_LIMITED, UNAVAILABLE, ClientGone
 */
export function hijack(reply: FastifyReply, bytes = 0): void {
  const { request } = reply
  if (bytes > 0) memoryOf(request).growResponse(bytes + freeBytes)
  request.memory?.keepBody(0)
  reply.hijack()
  releaseSlot(request)
}

function releaseSlot(request: FastifyRequest): void {
  request.slot?.[Symbol.dispose]()
  request.slot = null
}

/**
 * Returns whether the route reads a file from the body of the request.
 * @param config that of the route. Each use of `routeOptions` makes a new object, so callers read it once.
 */
export function isFile(
  request: FastifyRequest,
  config: FastifyContextConfig | undefined = request.routeOptions.config,
): boolean {
  const rule = config?.body
  return rule?.kind === 'file' || rule?.isFile?.(request) === true
}

/** Returns whether the route reads the body of the request into memory. */
function isParsed(request: FastifyRequest, config: FastifyContextConfig | undefined): boolean {
  return config?.body?.kind === 'parsed' && !isFile(request, config)
}

/** Returns the bytes of the body, or the largest number that it can have if it comes in chunks. */
export function bodyLength({ raw: { headers } }: FastifyRequest, bodyLimit: number): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit
  return Number(headers['content-length'] ?? 0)
}

/**
 * Reads a body into memory and passes it to `done`, or TOO_LARGE or INCOMPLETE_BODY. After an error, the rest of the body stays unread.
 * @param timeout milliseconds from the headers to the end of the body, for the message
 */
function readBody(
  body: IncomingMessage,
  limit: number,
  timeout: number,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const exchange = exchangeOf(body)
  const chunks: Buffer[] = []
  let bytes = 0
  let isSettled = false
  const settle = (error: Error | null) => {
    isSettled = true
    exchange.onLateBody = null
    if (error) body.off('data', onData).pause()
    const [first] = chunks
    done(error, error ? undefined : chunks.length === 1 ? first : Buffer.concat(chunks))
  }
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= limit) chunks.push(chunk)
    else
      settle(new AppError('TOO_LARGE', `The body has more than ${limit} bytes, which this endpoint does not accept.`))
  }
  exchange.onLateBody = () =>
    settle(new AppError('INCOMPLETE_BODY', `The body did not arrive within ${timeout / 1000} seconds.`))
  exchange.atEnd(() => {
    if (!isSettled) settle(new AppError('INCOMPLETE_BODY', 'The body ended too early.'))
  })
  body.on('data', onData)
  body.on('end', () => {
    if (!isSettled) settle(null)
  })
}

function requireType(type: string) {
  return async ({ headers }: FastifyRequest) => {
    const given = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
    if (given === type) return
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', `The body must have the Content-Type "${type}".`)
  }
}
