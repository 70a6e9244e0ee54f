/** One connection of SSH: its authentication, and the sessions of SFTP in it. Every other request of SSH is refused. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuthContext, AuthenticationType, Connection, ServerChannel } from 'ssh2'
import { isApiKey } from '../../auth/api-key.ts'
import { type Origin, slotOwners, type Viewer } from '../../auth/viewer.ts'
import { AppError, toAppError } from '../../errors.ts'
import { ClientGone } from '../../http/connection/client-abort.ts'
import { Slots } from '../../lib/slots.ts'
import type { Services } from '../../services/index.ts'
import { verifySignature } from '../../services/people/ssh-public-keys.ts'
import { serveSession } from './session.ts'
import { Transport } from './transport.ts'

/** Passwords and signatures that a client can try on one connection. */
const maxAttempts = 6
/** Requests for authentication on one connection. An agent offers all of its keys, most of which are for other servers. */
const maxAuthentications = 30
const maxSessions = 4
/** Milliseconds for a client to take what was sent before the end. */
const endTime = 2000
const methods: AuthenticationType[] = ['publickey', 'password']
/** Milliseconds without a request, and after the end of the last one, after which a connection is closed. */
const idleTime = 60 * 60 * 1000
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
}

/** Serves a connection whose handshake has begun. Returns a function that ends it. */
export function serveConnection(client: Connection, options: ConnectionOptions): () => void {
  const { services, socket, software, onReady } = options
  const transport = new Transport(client)
  const ending = new AbortController()
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

  /** Takes the place of the connection, and follows its credential. @throws RATE_LIMITED, what has ended the connection */
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
    ending.signal.addEventListener('abort', () => {
      clearTimeout(idle)
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
      if (ending.signal.aborted || sessions >= maxSessions) {
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
    serveSession({
      channel,
      services,
      userId: viewer.member.userId,
      viewer: signal => currentViewer(services, viewer, signal),
      unsent: () => transport.unsent,
      onDrain: resume => transport.onDrain(resume),
      signal: ending.signal,
      onRequest,
      onFault: error => options.onFault(error, origin.requestId),
    })
      .then(() => {
        channel.exit(0)
        channel.end()
      })
      .catch(error => options.onFault(toAppError(error), origin.requestId))
  }

  return () => end()
}

function tooMany(limit: number): AppError {
  return new AppError('RATE_LIMITED', `${limit} connections are open with this credential or of this member.`)
}

/** Whether the client only asks if a public key is known. */
function isOffer(context: AuthContext): boolean {
  return context.method === 'publickey' && !context.signature
}

/** Continues an authentication that has tried no credential yet. */
function offer(context: AuthContext): void {
  // Says that the public key is known, so that the client signs with it.
  if (context.method === 'publickey') context.accept()
  else context.reject(methods)
}

/** Returns the viewer of a credential; null if the client only asks which methods or keys there are. @throws as `Credentials.authenticate` */
async function authenticate(
  { credentials, requestLimits }: Services,
  context: AuthContext,
  origin: Origin,
): Promise<Viewer | null> {
  if (context.method === 'publickey') {
    const { key, blob, signature, hashAlgo: algorithm } = context
    const isSigned = blob && signature && (() => verifySignature(key.data, { blob, signature, algorithm }))
    return credentials.authenticatePublicKey(key.data, isSigned ?? null, origin)
  }
  if (context.method !== 'password') return null
  if (isApiKey(context.password)) return credentials.authenticate(context.password, origin)
  requestLimits.countGuess(origin.address)
  throw new AppError('INVALID_CREDENTIAL', 'Use an API key as the password, and any user name.')
}

/** Counts a request, and returns the viewer as of now. A client that sends too many waits. @throws as `Credentials.recallViewer`, RATE_LIMITED */
async function currentViewer(
  { credentials, requestLimits }: Services,
  viewer: Viewer,
  signal: AbortSignal,
): Promise<Viewer> {
  const until = performance.now() + maxWait
  for (;;) {
    try {
      requestLimits.countSession(viewer.credentialId)
      requestLimits.countMember(viewer)
      return await credentials.recallViewer(viewer)
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'RATE_LIMITED') throw error
      const wait = error.retryAfterMs ?? maxWait
      if (performance.now() + wait > until) throw error
      await sleep(wait, undefined, { signal })
    }
  }
}
