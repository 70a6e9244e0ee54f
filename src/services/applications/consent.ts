/** The consent of a person to the connection of an application, which only their own session can give. */
import { randomBytes, randomUUID } from 'node:crypto'
import { storeAccess } from '../../auth/access.ts'
import { type Audience, accessTokenPrefix, generateCode } from '../../auth/access-tokens.ts'
import { requireCovers, requireRecent, requireSession } from '../../auth/policy.ts'
import { highestScope, includedScopes, type Scope } from '../../auth/scopes.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { type ApiKey, insertApiKey } from '../../db/api-keys.ts'
import { keepApplication } from '../../db/applications.ts'
import type { Database } from '../../db/client.ts'
import { insertConnection } from '../../db/connections.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import { parseFuture } from '../input.ts'
import { type AccessInput, parseKeyAccess, requireProviders } from '../people/access.ts'
import { openRequest, parseRequest, type RequestedAccess, returnAddress } from './authorization-requests.ts'
import type { Clients, OAuthClient } from './clients.ts'
import { describeError, OAuthError } from './oauth-error.ts'
import { destinationOf, isOnMachine, isRegistered, parseRedirectUri } from './redirect-uris.ts'

/** The maximum number of active connections per member. */
export const maxConnections = 50
/** Seconds for which a code works. */
const codeLifetime = 60

/** The request about which a person decides. */
export interface ConsentRequest {
  clientName: string
  /** The host that vouches for the application; null if nobody does. */
  clientHost: string | null
  /** Where the browser goes afterwards. */
  destination: string
  /** Whether that is a program on the machine of the person. The host cannot vouch that it is the application. */
  isOnMachine: boolean
  audience: Audience
  /** The scopes from which the person can choose. */
  scopes: readonly Scope[]
  /** The address that tells the application that the person refuses. */
  refusalUrl: string
}

export interface ConsentInput {
  query: string
  scopes: readonly Scope[]
  providerAccess?: AccessInput | null | undefined
  expiresAt: Date
}

interface VerifiedRequest extends RequestedAccess {
  client: OAuthClient
  redirectUri: string
  parameters: ReadonlyMap<string, string>
}

export function createConsent({ db, audit, clients }: { db: Database; audit: Audit; clients: Clients }) {
  /**
   * Verifies a request. Only its application gets an error of it, at an address that it has registered.
   * @throws OAuthError, with `returnUrl` and `destination` in its facts if the browser can tell the application; UNAVAILABLE,
   * RATE_LIMITED
   */
  async function verify(
    { member: { userId } }: Viewer,
    query: string,
    baseUrl: string,
    signal: AbortSignal,
  ): Promise<VerifiedRequest> {
    const { clientId, redirectUri, parameters } = openRequest(query)
    const client = await clients.find(clientId, userId, signal)
    parseRedirectUri(redirectUri)
    if (!isRegistered(redirectUri, client.redirectUris)) {
      throw new OAuthError('invalid_redirect_uri', 'The application has not registered the address to return to.')
    }
    try {
      return { client, redirectUri, parameters, ...parseRequest(parameters, baseUrl) }
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      const response = { error: error.error, error_description: describeError(error) }
      const returnUrl = returnAddress(redirectUri, parameters, baseUrl, response)
      const facts = { returnUrl, destination: destinationOf(redirectUri) }
      throw new AppError(error.reason, error.message, { cause: error, facts })
    }
  }

  return {
    /**
     * Returns what an application asks for, for the person who decides.
     * @param query of the address that the application has opened
     * @throws SESSION_REQUIRED, INVALID_INPUT, UNAVAILABLE, RATE_LIMITED
     */
    async request(viewer: Viewer | null, query: string, baseUrl: string, signal: AbortSignal): Promise<ConsentRequest> {
      const person = requireSession(viewer)
      const { client, redirectUri, parameters, audience, scopes } = await verify(person, query, baseUrl, signal)
      const refusal = { error: 'access_denied', error_description: 'The person has refused.' } as const
      return {
        clientName: client.name,
        clientHost: client.host,
        destination: destinationOf(redirectUri),
        isOnMachine: isOnMachine(redirectUri),
        audience,
        scopes,
        refusalUrl: returnAddress(redirectUri, parameters, baseUrl, refusal),
      }
    },

    /**
     * Connects an application with the rights that the person chooses. The result leads their browser to it with a code.
     * @throws SESSION_REQUIRED, INVALID_INPUT, INVALID_PATH, EXCEEDS_OWN_REACH, NOT_FOUND, TOO_MANY_KEYS, UNAVAILABLE,
     * RATE_LIMITED
     */
    approve(
      viewer: Viewer | null,
      input: ConsentInput,
      baseUrl: string,
      signal: AbortSignal,
    ): Promise<{ returnUrl: string; apiKey: ApiKey }> {
      return audit.recorded(viewer, 'CONNECTION_CREATE', {}, async recording => {
        const creator = requireSession(viewer)
        requireRecent(creator)
        const { client, redirectUri, parameters, codeChallenge, audience, scopes } = await verify(
          creator,
          input.query,
          baseUrl,
          signal,
        )
        const scope = highestScope(input.scopes)
        if (scope === null || !scopes.includes(scope)) {
          throw new AppError('INVALID_INPUT', `The application asks for ${scopes.join(' or ')}: choose one of these.`)
        }
        const given = includedScopes(scope)
        const access = parseKeyAccess(input.providerAccess)
        const expiresAt = parseFuture(input.expiresAt, 'The expiry of a connection')
        const rights = { scope, access: access.all ? creator.access : access }
        requireCovers(creator, rights)
        const { workspaceId, userId } = creator.member
        await requireProviders(db, workspaceId, access)
        const connectionId = randomUUID()
        const { code, hash: codeHash } = generateCode()
        const displayPrefix = accessTokenPrefix(connectionId)
        recording.add({
          subject: { kind: 'API_KEY', id: connectionId },
          details: {
            application: client.name,
            clientId: client.id,
            destination: destinationOf(redirectUri),
            audience,
            displayPrefix,
            scopes: given,
            providerAccess: storeAccess(access),
            expiresAt,
          },
        })
        return recording.commit(async change => {
          const key = { workspaceId, userId, name: client.name, displayPrefix, scopes: given, access, expiresAt }
          const apiKey = await insertApiKey(change, { ...key, hash: unknownHash(), connectionId }, maxConnections)
          if (!apiKey) {
            throw new AppError(
              'TOO_MANY_KEYS',
              `You have ${maxConnections} connected applications, which is the limit: revoke one in the list of keys.`,
            )
          }
          const values = { keyId: connectionId, clientId: client.id, clientName: client.name, redirectUri, audience }
          await insertConnection(change, { ...values, codeHash, codeChallenge, codeLifetime })
          if (client.host === null) await keepApplication(change, client.id)
          return { returnUrl: returnAddress(redirectUri, parameters, baseUrl, { code }), apiKey }
        })
      })
    },
  }
}

/** The hash of the key of a connection, of which nobody knows the value. */
function unknownHash(): Buffer {
  return randomBytes(32)
}
