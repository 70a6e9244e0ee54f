/** One connection of SSH: its authentication, and the sessions of SFTP in it. Every other request of SSH is refused. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection, ServerChannel } from 'ssh2'
import { type Origin, slotOwners, type Viewer } from '../../auth/viewer.ts'
import { AppError, toAppError } from '../../errors.ts'
import { ClientGone } from '../../http/connection/client-abort.ts'
import { Slots } from '../../lib/slots.ts'
import type { Services } from '../../services/index.ts'
import { isSlug } from '../../services/providers/settings.ts'
import { authenticate, isOffer, methods, offer } from './authentication.ts'
import { speedUp } from './ciphers.ts'
import { type ObserveSftpRequest, serveSession } from './session.ts'
import { Transport } from './transport.ts'

/** Passwords and signatures that a client can try on one connection. */
const maxAttempts = 6
/** Requests for authentication on one connection. An agent offers all of its keys, most of which are for other servers. */
const maxAuthentications = 30
const maxSessions = 4
/** Milliseconds for a client to take what was sent before the end. */
const endTime = 2000
/** Milliseconds without a request, and after the end of the last one, after which a connection is closed. */
const idleTime = 60 * 60 * 1000
/** Milliseconds between signs of life while a request runs: some clients give up, and some networks forget a connection that is silent. */
const signTime = 10_000
/** Milliseconds that a request waits for the rate limit, which allows more within a minute. */
const maxWait = 60_000
/** Authenticated connections in this process. */
const slots = new Slots<'credential' | 'member' | 'links'>({ credential: 32, member: 64, links: 64, all: 2048 })

export interface ConnectionOptions {
  services: Services
  socket: Socket
  /** The name and version of the client's software. */
  software: string
  /** Called once the client has authenticated. */
  onReady: () => void
  /** Called for an error of the server. */
  onFault: (error: AppError, requestId: string) => void
  /** Called for each request. */
  observe: ObserveSftpRequest
}

export interface SftpConnection {
  /** The sessions that are open. */
  readonly sessions: number
  /** Starts no further request. Resolves when those that run have ended, and what was open is closed. */
  drain(): Promise<void>
  end(): void
}

/** Serves a connection whose handshake has begun. */
export function serveConnection(client: Connection, options: ConnectionOptions): SftpConnection {
  const { services, socket, software, onReady, observe } = options
  const transport = new Transport(client)
  speedUp(client, software)
  const ending = new AbortController()
  const stopping = new AbortController()
  const serving = new Set<Promise<void>>()
  const origin: Origin = {
    address: socket.remoteAddress ?? '',
    requestId: randomUUID(),
    connection: socket,
    userAgent: software,
  }
  let attempts = 0
  let authentications = 0
  const end = (reason?: unknown) => {
    if (ending.signal.aborted) return
    ending.abort(reason ?? new ClientGone('The connection has ended'))
    client.end()
    // A client that does not close its side must not keep the connection.
    const destroying = setTimeout(() => socket.destroy(), endTime).unref()
    socket.once('close', () => clearTimeout(destroying))
  }
  socket.once('close', () => end())
  // The end of the connection says enough.
  client.on('error', () => socket.destroy())

  client.on('authentication', context => {
    authentications += 1
    if (authentications > maxAuthentications) {
      end()
      return
    }
    authenticate(services, context, origin).then(
      viewer => {
        if (!viewer) {
          offer(context)
          return
        }
        try {
          begin(viewer)
        } catch (error) {
          end(error)
          return
        }
        context.accept()
        onReady()
      },
      error => {
        const { status } = toAppError(error)
        if (status >= 500) options.onFault(toAppError(error), origin.requestId)
        if (!isOffer(context)) attempts += 1
        if (attempts >= maxAttempts) end()
        else context.reject(methods)
      },
    )
  })

  /** Takes a slot for the connection, and follows its credential. @throws RATE_LIMITED, what has ended the connection */
  function begin(viewer: Viewer): void {
    ending.signal.throwIfAborted()
    const slot = slots.take(slotOwners(viewer), (_level, limit) => tooMany(limit))
    const followed = services.credentialWatch.follow(viewer, ending.signal)
    followed.signal.addEventListener('abort', () => end(followed.signal.reason), { once: true })
    let running = 0
    const idle = setTimeout(() => {
      if (running > 0) idle.refresh()
      else end()
    }, idleTime).unref()
    const signs = setInterval(() => {
      if (running > 0) transport.ping()
    }, signTime).unref()
    ending.signal.addEventListener('abort', () => {
      clearTimeout(idle)
      clearInterval(signs)
      followed[Symbol.dispose]()
      slot[Symbol.dispose]()
    })
    const onRequest = () => {
      running += 1
      return () => {
        running -= 1
        if (!ending.signal.aborted) idle.refresh()
      }
    }
    let sessions = 0
    client.on('session', (accept, reject) => {
      if (ending.signal.aborted || stopping.signal.aborted || sessions >= maxSessions) {
        reject()
        return
      }
      sessions += 1
      const session = accept()
      session.once('close', () => {
        sessions -= 1
      })
      session.on('subsystem', (open, refuse, { name }) => {
        const channel = name === 'sftp' && open()
        // A session has one channel: there is none for a second request.
        if (channel) serve(viewer, channel, onRequest)
        else refuse?.()
      })
    })
  }

  function serve(viewer: Viewer, channel: ServerChannel, onRequest: () => () => void): void {
    transport.boundInput(channel)
    const served = serveSession({
      channel,
      services,
      userId: viewer.member.userId,
      viewer: (signal, slug) => currentViewer(services, viewer, { signal, slug }),
      unsent: () => transport.unsent,
      onDrain: resume => transport.onDrain(resume),
      signal: ending.signal,
      stopping: stopping.signal,
      onRequest,
      onFault: error => options.onFault(error, origin.requestId),
      observe,
    })
      .then(() => {
        channel.exit(0)
        channel.end()
      })
      .catch(error => options.onFault(toAppError(error), origin.requestId))
      .finally(() => serving.delete(served))
    serving.add(served)
  }

  return {
    get sessions() {
      return serving.size
    },
    async drain() {
      stopping.abort()
      await Promise.all(serving)
    },
    end,
  }
}

function tooMany(limit: number): AppError {
  return new AppError('RATE_LIMITED', `${limit} connections are open with this credential or of this member.`)
}

/** Counts a request, and returns the viewer as of now. A client that sends too many waits. @throws as `Credentials.recallViewer`, RATE_LIMITED */
async function currentViewer(
  { credentials, requestLimits }: Services,
  viewer: Viewer,
  { signal, slug }: { signal: AbortSignal; slug: string | null },
): Promise<Viewer> {
  // The check of the credential sees the storage as well, so that opening it takes no query of its own.
  const provider = slug !== null && isSlug(slug) ? { slug } : null
  const until = performance.now() + maxWait
  for (;;) {
    try {
      requestLimits.countSession(viewer.credentialId)
      requestLimits.countMember(viewer)
      return await credentials.recallViewer(viewer, provider)
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'RATE_LIMITED') throw error
      const wait = error.retryAfterMs ?? maxWait
      if (performance.now() + wait > until) throw error
      await sleep(wait, undefined, { signal })
    }
  }
}
