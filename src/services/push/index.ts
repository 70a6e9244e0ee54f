/**
 * Push notifications: which browsers of a member get them, about what, and the key of this server for push services. A subscription
 * enters; a person sees only their own. `sender.ts` sends the notifications.
 */
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { requireSession } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { deleteOldPush, insertPushTest } from '../../db/push-messages.ts'
import {
  findPushKey,
  insertPushKey,
  listPushSubscriptions,
  type PushReceiver,
  type PushSubscription,
  removePushSubscription,
  replacePushSubscription,
  setPushEvents,
} from '../../db/push-subscriptions.ts'
import { type PushEvent, pushEvents } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { isClosedAddress } from '../../storage/network/index.ts'
import type { Redactor } from '../../storage/tokens.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { parseLanguage } from '../input.ts'
import type { PushLimit } from '../limits/index.ts'
import { authBytes, generateSigningKey, isPoint, type SigningKey } from './encryption.ts'
import { lifetime, type PushSenderContext, startPushSender } from './sender.ts'

/** The browsers of a member that get notifications. A new one replaces the oldest. */
export const maxPushSubscriptions = 20
/** Characters. */
const maxEndpoint = 1000
/** Milliseconds for a push service to respond to the first request. */
const probeTimeout = 5000
const keyId = '1'

/** A browser of the viewer. */
export interface OwnPushSubscription extends PushSubscription {
  /** Whether the request uses the same session. */
  current: boolean
}

export interface NewPushInput {
  endpoint: string
  /** In base64url, as browsers have them. */
  publicKey: string
  auth: string
  events?: readonly PushEvent[] | null | undefined
  language?: string | null | undefined
}

export function createPush(options: {
  db: Database
  secrets: Secrets
  redaction: Redactor
  audit: Audit
  limits: PushLimit
  /** Connects to addresses of public networks only. */
  fetch: typeof globalThis.fetch
  /** The operator's address for push services; null for none. */
  contact: string | null
  isEnabled: boolean
  /** Whether this server sends notifications. */
  isSending: boolean
  onError: (error: unknown) => void
  onFailure: PushSenderContext['onFailure']
}) {
  const { db, secrets, redaction, audit, limits, fetch, contact, isEnabled, isSending, onError, onFailure } = options
  const nextId = timeOrderedIds()
  let known: Promise<SigningKey> | undefined

  /** Makes the key if no server has made it yet. */
  async function loadKey(): Promise<SigningKey> {
    if (!(await findPushKey(db))) {
      const made = generateSigningKey()
      await insertPushKey(db, { ...made, privateKey: secrets.seal('push-key', keyId, made.privateKey) })
    }
    // Another server may have stored its own key first.
    const stored = await findPushKey(db)
    if (!stored) throw new Error('The key for push services was deleted.')
    const privateKey = secrets.open('push-key', keyId, stored.privateKey)
    redaction.hold(privateKey, String(JSON.parse(privateKey).d))
    return { publicKey: stored.publicKey, privateKey }
  }

  function signingKey(): Promise<SigningKey> {
    known ??= loadKey()
    // The next message tries again.
    known.catch(() => {
      known = undefined
    })
    return known
  }

  async function list(viewer: Viewer | null): Promise<OwnPushSubscription[]> {
    const { member, credentialId } = requireSession(viewer)
    const found = await listPushSubscriptions(db, member)
    return found.map(each => ({ ...each, current: each.sessionId === credentialId }))
  }

  async function find(viewer: Viewer | null, id: string): Promise<OwnPushSubscription> {
    const found = (await list(viewer)).find(each => each.id === id)
    if (!found) throw notFound()
    return found
  }

  /** Requires that this server may connect to a push service, and can. @throws INVALID_INPUT, UNAVAILABLE */
  async function requireReachable({ origin, host }: URL, signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(probeTimeout)])
    try {
      const response = await fetch(origin, { method: 'HEAD', redirect: 'manual', signal: deadline })
      await response.body?.cancel()
    } catch (cause) {
      signal.throwIfAborted()
      if (isClosedAddress(cause)) {
        throw new AppError('INVALID_INPUT', `${host} is not at an address of a public network.`, { cause })
      }
      throw new AppError('UNAVAILABLE', `This server does not reach ${host}, the push service of the browser.`, {
        cause,
      })
    }
  }

  /** Changes one of the viewer's browsers. @throws SESSION_REQUIRED, NOT_FOUND, and as `work` */
  function change<T>(
    viewer: Viewer | null,
    action: 'PUSH_UPDATE' | 'PUSH_UNSUBSCRIBE' | 'PUSH_TEST',
    id: string,
    work: (recording: Recording, viewer: Viewer, id: string) => Promise<T>,
  ): Promise<T> {
    return audit.recorded(viewer, action, {}, recording => {
      const present = requireSession(viewer)
      if (!isId(id)) throw notFound()
      recording.add({ details: { subscriptionId: id } })
      return work(recording, present, id)
    })
  }

  const stop = isEnabled && isSending ? startPushSender({ db, signingKey, fetch, contact, onError, onFailure }) : null

  return {
    list,

    /** Deletes messages that nobody sends any more. Call it once a day. */
    sweep: () => deleteOldPush(db, lifetime),

    /**
     * Returns the public key of this server, with which browsers subscribe, in base64url; null if it sends no notifications.
     * @throws SESSION_REQUIRED
     */
    async publicKey(viewer: Viewer | null): Promise<string | null> {
      requireSession(viewer)
      return isEnabled ? (await signingKey()).publicKey.toString('base64url') : null
    },

    /**
     * Sends notifications to the browser of the session until the session ends. Without events in the input, a browser that
     * is subscribed already keeps its events.
     * @throws SESSION_REQUIRED, PRECONDITION_FAILED, INVALID_INPUT, RATE_LIMITED, UNAVAILABLE
     */
    subscribe(viewer: Viewer | null, input: NewPushInput, signal: AbortSignal): Promise<OwnPushSubscription> {
      return audit.recorded(viewer, 'PUSH_SUBSCRIBE', {}, async recording => {
        const { member, credentialId: sessionId } = requireSession(viewer)
        if (!isEnabled) throw new AppError('PRECONDITION_FAILED', 'This server sends no push notifications.')
        const { url, ...receiver } = parseReceiver(input)
        const events = input.events ? [...new Set(input.events)] : null
        const language = parseLanguage(input.language ?? '')
        const id = nextId(new Date())
        recording.add({ details: { subscriptionId: id, host: url.host, ...(events && { events }) } })
        await limits.countPush(member.userId)
        await requireReachable(url, signal)
        const { workspaceId, userId } = member
        const subscription = { id, workspaceId, userId, sessionId, ...receiver, events, language }
        const bounds = { usual: pushEvents, max: maxPushSubscriptions }
        await recording.commit(trx => replacePushSubscription(trx, subscription, bounds))
        return find(viewer, id)
      })
    },

    /** Changes the events of one of the viewer's browsers. @throws SESSION_REQUIRED, NOT_FOUND */
    update(viewer: Viewer | null, id: string, given: readonly PushEvent[]): Promise<OwnPushSubscription> {
      return change(viewer, 'PUSH_UPDATE', id, async (recording, { member }) => {
        const events = [...new Set(given)]
        recording.add({ details: { events } })
        await recording.commit(async trx => {
          if (!(await setPushEvents(trx, member, id, events))) throw notFound()
        })
        return find(viewer, id)
      })
    },

    /** Ends the notifications of one of the viewer's browsers. @throws SESSION_REQUIRED, NOT_FOUND */
    async unsubscribe(viewer: Viewer | null, id: string): Promise<void> {
      await change(viewer, 'PUSH_UNSUBSCRIBE', id, (recording, { member }) =>
        recording.commit(async trx => {
          if (!(await removePushSubscription(trx, member, id))) throw notFound()
        }),
      )
    },

    /** Sends a test to one of the viewer's browsers. @throws SESSION_REQUIRED, NOT_FOUND, PRECONDITION_FAILED, RATE_LIMITED */
    async test(viewer: Viewer | null, id: string): Promise<void> {
      await change(viewer, 'PUSH_TEST', id, async (recording, { member }) => {
        if (!isEnabled) throw new AppError('PRECONDITION_FAILED', 'This server sends no push notifications.')
        await find(viewer, id)
        await limits.countPush(member.userId)
        await recording.commit(trx => insertPushTest(trx, id))
      })
    },

    /** Ends the search for messages. */
    async stop(): Promise<void> {
      await stop?.()
    },
  }
}

/** @throws INVALID_INPUT */
function parseReceiver({ endpoint, publicKey, auth }: NewPushInput): PushReceiver & { url: URL } {
  const url = endpoint.length <= maxEndpoint && URL.canParse(endpoint) ? new URL(endpoint) : null
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.href.length > maxEndpoint) {
    const message = `The endpoint of a browser begins with "https://", contains no user name, and has at most ${maxEndpoint} characters.`
    throw new AppError('INVALID_INPUT', message)
  }
  const [point, secret] = [publicKey, auth].map(text => Buffer.from(text.slice(0, 200), 'base64url'))
  if (!point || !isPoint(point) || secret?.length !== authBytes) {
    const message = 'Send the keys "p256dh" and "auth" of the subscription as the browser has made them, in base64url.'
    throw new AppError('INVALID_INPUT', message)
  }
  return { url, endpoint: url.href, publicKey: point, auth: secret }
}

function notFound(): AppError {
  return new AppError('NOT_FOUND', 'You have no such subscription: list them again.')
}
