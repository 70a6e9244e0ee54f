/** Signs a person in, for programs that act in their name for a while, such as to create an API key. */
import { StowageError } from './error.ts'
import { Graphql } from './graphql.ts'
import type * as schema from './schema.ts'
import { type StowageOptions, Transport } from './transport.ts'

export interface SignInOptions extends Omit<StowageOptions, 'credential'> {
  email: string
  password: string
  /**
   * Asks for a code of the authenticator app or for a recovery code. It is called for an account with a second factor, and again after a
   * wrong code. Passkeys need a browser.
   * @param request.isRepeated whether the last code was wrong
   */
  askForCode?: (request: {
    methods: readonly schema.Factor[]
    isRepeated: boolean
  }) => Promise<{ code: string } | { recoveryCode: string }>
  signal?: AbortSignal
}

/** A session. Its token is a credential of `Stowage` until it ends, or until the mutation `logout`. */
export interface SignedIn {
  token: string
  expiresAt: string
}

const loginDocument = 'mutation ($input: LoginInput!) { login(input: $input) { token expiresAt } }'
const completeDocument = 'mutation ($input: CompleteLoginInput!) { completeLogin(input: $input) { token expiresAt } }'

/** @throws StowageError, such as WRONG_EMAIL_OR_PASSWORD, or SECOND_FACTOR_REQUIRED without `askForCode` */
export async function signIn({ email, password, askForCode, signal, ...options }: SignInOptions): Promise<SignedIn> {
  const graphql = new Graphql(new Transport(options))
  const request = signal ? { signal } : {}
  try {
    const input = { email, password }
    return (await graphql.run<{ login: SignedIn }, object>(loginDocument, { input }, request)).login
  } catch (error) {
    const challenge = challengeOf(error)
    if (!challenge || !askForCode) throw error
    for (let isRepeated = false; ; isRepeated = true) {
      const answer = await askForCode({ methods: challenge.methods, isRepeated })
      const input = { challenge: challenge.challenge, ...answer }
      try {
        return (await graphql.run<{ completeLogin: SignedIn }, object>(completeDocument, { input }, request))
          .completeLogin
      } catch (wrong) {
        if (!(wrong instanceof StowageError) || wrong.reason !== 'WRONG_CODE') throw wrong
      }
    }
  }
}

function challengeOf(error: unknown): { challenge: string; methods: readonly schema.Factor[] } | null {
  if (!(error instanceof StowageError) || error.reason !== 'SECOND_FACTOR_REQUIRED') return null
  const { challenge, methods } = error.extensions
  if (typeof challenge !== 'string' || !Array.isArray(methods)) return null
  return { challenge, methods: methods as schema.Factor[] }
}
