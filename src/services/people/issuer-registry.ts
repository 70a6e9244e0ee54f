/** The issuers with which people sign in: the one that the operator has set, and those that owners have added. */
import { createHash } from 'node:crypto'
import { SecretMismatch, type Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { type IssuerRecord, keepEnabled, listEnabledIssuers } from '../../db/issuers.ts'
import { AppError } from '../../errors.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { Redactor } from '../../storage/tokens.ts'
import { createIssuer, type Issuer, type IssuerSettings } from './oidc-issuer.ts'

/** The id of the issuer of the settings. */
export const settingsIssuerId = 'settings'
/** Issuers whose metadata and keys are kept. */
const maxOpen = 64

export const callbackPath = '/auth/oidc/callback'

/**
 * Returns the path to which an issuer sends browsers back. Each issuer has its own (RFC 9700, section 4.4.2.2): otherwise, a hostile
 * issuer could pass a person on to another one, and be given the code of that one. The issuer of the settings has the short path.
 * @param id null for settings that are not stored
 */
export function callbackPathOf(id: string | null, issuer: string): string {
  if (id === settingsIssuerId) return callbackPath
  return `${callbackPath}/${createHash('sha256').update(issuer).digest('hex').slice(0, 32)}`
}

/** Who gets an account at their first sign-in: people with a verified email in one of the domains, who join the groups. */
export interface AdmissionRule {
  domains: readonly string[]
  groupIds: readonly string[]
}

/** An issuer with which people can sign in. */
export interface ActiveIssuer {
  id: string
  /** The name on the button of the sign-in page. */
  name: string
  /** Its address. */
  issuer: string
  /** Increases with each change. */
  version: number
  callbackPath: string
  rule: AdmissionRule
  /** @throws UNAVAILABLE if its secret cannot be decrypted */
  open(): Issuer
}

export type IssuerRegistry = ReturnType<typeof createIssuerRegistry>

export function createIssuerRegistry({
  db,
  secrets,
  redaction,
  fetch,
  oidc,
}: {
  db: Database
  secrets: Secrets
  redaction: Redactor
  /** Connects to permitted addresses only. */
  fetch: typeof globalThis.fetch
  /** The issuer of the settings; null for none. */
  oidc: IssuerSettings | null
}) {
  const opened = new LruMap<string, { issuer: Issuer; hold: Disposable }>(maxOpen, {
    onForget: (_key, { hold }) => hold[Symbol.dispose](),
  })

  function connect(key: string, settingsOf: () => IssuerSettings): Issuer {
    const known = opened.get(key)
    if (known) return known.issuer
    const settings = settingsOf()
    const issuer = createIssuer(settings, fetch)
    opened.set(key, { issuer, hold: redaction.hold(settings.clientSecret) })
    return issuer
  }

  const fromSettings: ActiveIssuer | null = oidc && {
    id: settingsIssuerId,
    name: new URL(oidc.issuer).host,
    issuer: oidc.issuer,
    version: 0,
    callbackPath,
    rule: { domains: [], groupIds: [] },
    open: () => connect(settingsIssuerId, () => oidc),
  }

  /** @throws UNAVAILABLE */
  function settingsOf(record: IssuerRecord): IssuerSettings {
    const { issuer, clientId, groupsClaim, prompt, maxAgeMinutes } = record
    return { issuer, clientId, clientSecret: secretOf(record), groupsClaim, prompt, maxAgeMinutes }
  }

  /** @throws UNAVAILABLE */
  function secretOf({ id, name, secret }: Pick<IssuerRecord, 'id' | 'name' | 'secret'>): string {
    try {
      return secrets.open('issuer', id, secret)
    } catch (cause) {
      if (!(cause instanceof SecretMismatch)) throw cause
      const message = `The secret of "${name}" cannot be decrypted: an owner has to give it again.`
      throw new AppError('UNAVAILABLE', message, { cause })
    }
  }

  async function active(at: Database = db): Promise<ActiveIssuer[]> {
    const records = await listEnabledIssuers(at)
    return [
      ...(fromSettings ? [fromSettings] : []),
      ...records
        .filter(({ issuer }) => issuer !== fromSettings?.issuer)
        .map(record => ({
          id: record.id,
          name: record.name,
          issuer: record.issuer,
          version: record.version,
          callbackPath: callbackPathOf(record.id, record.issuer),
          rule: record,
          open: () => connect(`${record.id} ${record.version}`, () => settingsOf(record)),
        })),
    ]
  }

  return {
    /** The issuer of the settings; null for none. */
    oidc,
    secretOf,

    /** Returns the issuers with which people can sign in, that of the settings first. Connects to none. @param at a transaction */
    active,

    /** @param id null for the first one @throws NOT_FOUND */
    async find(id: string | null): Promise<ActiveIssuer> {
      const all = await active()
      if (all.length === 0) {
        const message = 'This server has no single sign-on: an owner adds an issuer in the settings.'
        throw new AppError('NOT_FOUND', message)
      }
      const found = id === null ? all[0] : all.find(each => each.id === id)
      if (!found) throw new AppError('NOT_FOUND', 'People cannot sign in with this issuer: it was removed or disabled.')
      return found
    },

    /** Keeps an issuer as it is until the end of the transaction. @throws SIGN_IN_REFUSED if it has changed */
    async keepActive(change: Database, { id, version }: Pick<ActiveIssuer, 'id' | 'version'>): Promise<void> {
      if (id === settingsIssuerId || (await keepEnabled(change, id, version))) return
      throw new AppError('SIGN_IN_REFUSED', 'The issuer was changed, removed or disabled meanwhile: begin again.')
    },

    /** Returns a connection of its own for settings that are not stored. @param settings with a secret that the caller keeps out of the log */
    connect: (settings: IssuerSettings): Issuer => createIssuer(settings, fetch),
  }
}
