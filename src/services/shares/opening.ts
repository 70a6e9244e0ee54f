/**
 * Opens a share link: checks its password before anything else about the share is done, and translates between the paths that the link
 * shows and the real ones.
 */
import { createHmac, hash, randomBytes } from 'node:crypto'
import { enterPasswordQueue, verifyPassword } from '../../auth/passwords.ts'
import { childOf, formatPath, isWithin, nameOf, parsePath, type StoragePath, segmentsOf } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import type { ShareRecord } from '../../db/shares/shares.ts'
import { AppError } from '../../errors.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { Audit } from '../audit/index.ts'
import type { SignIns } from '../limits/sign-ins.ts'

/** A request opens a link with its password and its session, or with the proof that an earlier request got for these. */
export interface ShareKey {
  password: string | null
  proof: string | null
  /** The token of a session, for a share that has recipients. */
  session: string | null
}

/** Milliseconds. Browsers keep the proof in a cookie. */
const proofLifetime = 12 * 60 * 60 * 1000
/** Milliseconds for which a password that was right is not hashed again, so that a script can send it with each request. */
const rememberedTime = 5 * 60 * 1000
const maxRemembered = 1000

type Locked = Pick<ShareRecord, 'id' | 'passwordHash'>

/** The earlier request that a proof shows. */
interface Proven {
  /** The session that opened a share with recipients; null for another share. */
  sessionId: string | null
}

export function createUnlocking({
  secrets,
  audit,
  limits,
}: {
  secrets: Secrets
  audit: Audit
  limits: Pick<SignIns, 'tryPassword'>
}) {
  const ownKey = randomBytes(32)
  /** Passwords that were right, and until when, in milliseconds of `performance.now()`. */
  const remembered = new LruMap<string, number>(maxRemembered)

  function isRemembered(key: string): boolean {
    return (remembered.get(key) ?? 0) > performance.now()
  }

  function remember(key: string): void {
    remembered.set(key, performance.now() + rememberedTime)
  }

  /** The proof ends with the password for which it was made. */
  function openProof(proof: string, { id, passwordHash }: Locked): Proven | null {
    const payload = secrets.verify('share', proof, id)
    if (payload === null) return null
    const [until, version, sessionId = null] = JSON.parse(payload)
    return until > Date.now() && version === versionOf(passwordHash) ? { sessionId } : null
  }

  /** @throws WRONG_SHARE_PASSWORD, RATE_LIMITED, UNAVAILABLE */
  function requirePassword(
    { id, passwordHash }: Locked,
    password: string,
    origin: Origin,
    signal: AbortSignal,
  ): Promise<void> {
    return audit.recorded({ origin }, 'SHARE_UNLOCK', { subject: { kind: 'SHARE', id } }, async () => {
      using slot = enterPasswordQueue(origin.address, signal)
      await limits.tryPassword({ account: { share: id }, address: origin.address }, async () => {
        if (!(await verifyPassword(slot, passwordHash, password))) throw new AppError('WRONG_SHARE_PASSWORD')
      })
    })
  }

  return {
    /**
     * Returns the id of the session that has opened the share before, as the proof shows.
     * @throws SHARE_PASSWORD_REQUIRED, WRONG_SHARE_PASSWORD, RATE_LIMITED, UNAVAILABLE
     */
    async require(
      share: Locked,
      { password, proof }: ShareKey,
      origin: Origin,
      signal: AbortSignal,
    ): Promise<string | null> {
      const proven = proof === null ? null : openProof(proof, share)
      if (proven || share.passwordHash === null) return proven?.sessionId ?? null
      if (password === null) throw new AppError('SHARE_PASSWORD_REQUIRED')
      const key = createHmac('sha256', ownKey)
        .update(JSON.stringify([share.passwordHash, password]))
        .digest('hex')
      if (isRemembered(key)) return null
      await requirePassword(share, password, origin, signal)
      remember(key)
      return null
    },

    /** Returns a proof for somebody who has sent the right password, and the session of a recipient if the share has recipients. */
    prove({ viewer, share: { id, passwordHash } }: OpenedShare): { proof: string; expiresAt: Date } {
      const until = Date.now() + proofLifetime
      const proof = secrets.sign(
        'share',
        JSON.stringify([until, versionOf(passwordHash), viewer.openedBy?.sessionId]),
        id,
      )
      return { proof, expiresAt: new Date(until) }
    },
  }
}

function versionOf(passwordHash: string | null): string {
  return hash('sha256', passwordHash ?? '').slice(0, 16)
}

// The paths that a share link shows. They begin at what is shared, so they reveal no folder above it: at the top is the content
// of the shared folder, or the shared files and folders by their names. They are translated here, and only here; every decision
// and every other part of the server works on the real path.

/** A share that a request has opened with its link and, if it has one, its password. */
export interface OpenedShare {
  viewer: Viewer
  share: ShareRecord
}

type Top = Pick<ShareRecord, 'paths' | 'isFolder'>

/** Returns the real path; null for the top of a share that has no folder of its own. @throws INVALID_PATH, NOT_FOUND */
export function realPath({ paths, isFolder }: Top, shown: string): StoragePath | null {
  const segments = segmentsOf(parsePath(shown))
  const [folder] = paths
  if (isFolder && folder !== undefined) return joined(folder, segments)
  const [name, ...below] = segments
  if (name === undefined) return null
  const top = paths.find(path => nameOf(path) === name)
  if (top === undefined) throw new AppError('NOT_FOUND', 'Nothing is shared at this path.')
  return joined(top, below)
}

/** @throws INVALID_PATH if the result is too long */
function joined(top: StoragePath, below: readonly string[]): StoragePath {
  return below.reduce<StoragePath>((path, name) => childOf(path, name), top)
}

/** Returns the path that a link shows, for a real path within the share. */
export function shownPath({ paths, isFolder }: Top, real: StoragePath): string {
  const top = paths.find(path => isWithin(real, path))
  if (top === undefined) throw new Error('The path is not within the share')
  const below = segmentsOf(real).slice(segmentsOf(top).length)
  return formatPath((isFolder ? below : [nameOf(top), ...below]).join('/') as StoragePath)
}
