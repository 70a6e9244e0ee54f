import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, use } from 'react'
import { accountKey, keepLanguage, type Language, workspaceKey } from '../texts/languages.ts'
import { ask, StowageError, stowage } from './client.ts'
import { forgetOthers } from './device.ts'
import { graphql, type ResultOf } from './graphql.ts'
import { askForPasskey } from './passkeys.ts'
import { forgetPush } from './push-device.ts'
import { queryKeys } from './query-keys.ts'

const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      scopes
      needsSecondFactor
      providerAccess { all }
      user { id email name language getsMentions role: effectiveRole groups { id name } }
    }
    workspace { id name registration secondFactorRoles approvals scannedUploads hasScanner sendsEmail branding { color text logoUrl } language }
  }
`)

const InstallationQuery = graphql(`
  query Installation {
    installation {
      hasOwner needsSetupCode registration hasDirectory sendsPasswordResets singleSignOn { id name url } singleSignOnOnly
      branding { color text logoUrl } language
    }
  }
`)

const LoginMutation = graphql(`
  mutation Login($input: LoginInput!) {
    login(input: $input) { token }
  }
`)

const CompleteLoginMutation = graphql(`
  mutation CompleteLogin($input: CompleteLoginInput!) {
    completeLogin(input: $input) { token }
  }
`)

const PasskeySignInQuery = graphql(`
  query PasskeySignIn { passkeySignIn }
`)

const SignInWithPasskeyMutation = graphql(`
  mutation SignInWithPasskey($passkey: JSON!) {
    signInWithPasskey(passkey: $passkey) { token }
  }
`)

const RegisterMutation = graphql(`
  mutation Register($input: RegisterInput!) {
    register(input: $input) { token }
  }
`)

const RequestPasswordResetMutation = graphql(`
  mutation RequestPasswordReset($email: String!) {
    requestPasswordReset(email: $email)
  }
`)

const ResetPasswordMutation = graphql(`
  mutation ResetPassword($input: ResetPasswordInput!) {
    resetPassword(input: $input)
  }
`)

const LinkInviteQuery = graphql(`
  query LinkInvite($invite: String!) {
    linkInvite(invite: $invite) { email name }
  }
`)

const InvitedLinkUrlQuery = graphql(`
  query InvitedLinkUrl($invite: String!, $issuer: ID) { invitedLinkUrl(invite: $invite, issuer: $issuer) }
`)

const LinkInvitedIdentityMutation = graphql(`
  mutation LinkInvitedIdentity($invite: String!, $ticket: String!) {
    linkInvitedIdentity(invite: $invite, ticket: $ticket)
  }
`)

const IssuerLogoutQuery = graphql(`
  query IssuerLogout { issuerLogout { name url } }
`)

const LogoutMutation = graphql(`
  mutation Logout { logout }
`)

/** Tells the other tabs of this browser about a sign-in or sign-out, because all tabs share the cookie. */
const tabs = new BroadcastChannel('stowage.session')

/** Calls the listener when another tab signs in or out. */
export function onSignInElsewhere(listener: () => void): void {
  tabs.addEventListener('message', listener)
}

export type Session = ResultOf<typeof ViewerQuery>

/** Returns null if nobody is signed in. @throws StowageError */
async function currentSession(): Promise<Session | null> {
  try {
    return await ask(ViewerQuery, {})
  } catch (error) {
    if (!(error instanceof StowageError)) throw error
    if (error.status === 401) await deleteCookie()
    if (error.status === 401 || error.reason === 'CREDENTIAL_REQUIRED') return null
    throw error
  }
}

/** Loads the page again in its new language, before anybody has begun something on it. */
function reload(): Promise<never> {
  location.reload()
  return new Promise(() => {})
}

let isInstallationKnown = false

/** @throws StowageError */
export async function installation() {
  const { installation } = await ask(InstallationQuery, {}, { isAnonymous: true })
  if (keepLanguage(workspaceKey, installation.language) && !isInstallationKnown) await reload()
  isInstallationKnown = true
  return installation
}

/** The second step of a sign-in: the challenge of the server, and the second factors of the account. */
export interface LoginChallenge {
  challenge: string
  methods: readonly string[]
  passkeyOptions: unknown
}

/** Signs in. Resolves with the challenge of an account that has a second factor. @throws StowageError */
export async function signIn(email: string, password: string): Promise<LoginChallenge | null> {
  try {
    const { login } = await ask(LoginMutation, { input: { email, password } }, { isAnonymous: true })
    await storeInCookie(login.token)
    return null
  } catch (error) {
    if (!(error instanceof StowageError) || error.reason !== 'SECOND_FACTOR_REQUIRED') throw error
    const { challenge, methods, passkeyOptions } = error.extensions
    return { challenge: String(challenge), methods: methods as string[], passkeyOptions }
  }
}

/** One second factor: what the person typed, or the answer of the browser. */
export type GivenFactor = { code: string } | { recoveryCode: string } | { passkey: unknown }

/** @throws StowageError */
export async function completeLogin(challenge: string, factor: GivenFactor): Promise<void> {
  const { completeLogin } = await ask(CompleteLoginMutation, { input: { challenge, ...factor } }, { isAnonymous: true })
  await storeInCookie(completeLogin.token)
}

/** @throws StowageError, and a DOMException if the person cancels */
export async function signInWithPasskey(): Promise<void> {
  const { passkeySignIn } = await ask(PasskeySignInQuery, {}, { isAnonymous: true })
  const passkey = await askForPasskey(passkeySignIn)
  const { signInWithPasskey } = await ask(SignInWithPasskeyMutation, { passkey }, { isAnonymous: true })
  await storeInCookie(signInWithPasskey.token)
}

/** @throws StowageError */
export async function register(input: {
  email: string
  password: string
  name?: string
  invite?: string
  setupCode?: string
}): Promise<void> {
  const { register } = await ask(RegisterMutation, { input }, { isAnonymous: true })
  await storeInCookie(register.token)
}

/** Asks for an email with a link for a new password. Resolves for addresses without an account, too. @throws StowageError */
export async function requestPasswordReset(email: string): Promise<void> {
  await ask(RequestPasswordResetMutation, { email }, { isAnonymous: true })
}

/** Sets a new password with the token of a link. @throws StowageError */
export async function resetPassword(token: string, newPassword: string): Promise<void> {
  await ask(ResetPasswordMutation, { input: { token, newPassword } }, { isAnonymous: true })
}

/** Resolves with the account for which an invite to link one at an issuer is. @throws StowageError */
export async function linkInvite(invite: string) {
  return (await ask(LinkInviteQuery, { invite }, { isAnonymous: true })).linkInvite
}

/** Resolves with the address at which a browser begins to link an account at an issuer. @throws StowageError */
export async function invitedLinkUrl(invite: string, issuer: string): Promise<string> {
  return (await ask(InvitedLinkUrlQuery, { invite, issuer }, { isAnonymous: true })).invitedLinkUrl
}

/** @throws StowageError */
export async function linkInvitedIdentity(invite: string, ticket: string): Promise<void> {
  await ask(LinkInvitedIdentityMutation, { invite, ticket }, { isAnonymous: true })
}

export type IssuerLogout = NonNullable<ResultOf<typeof IssuerLogoutQuery>['issuerLogout']>

const UpdateLanguageMutation = graphql(`
  mutation UpdateLanguage($language: String) {
    updateProfile(input: { language: $language }) { id }
  }
`)

/** Chooses the language of the person on all devices; null for that of each browser. Loads the page again. @throws StowageError */
export async function chooseLanguage(tag: Language | null): Promise<never> {
  await ask(UpdateLanguageMutation, { language: tag })
  keepLanguage(accountKey, tag)
  return reload()
}

/** Signs out. Resolves with the issuer where the person may still be signed in. */
export async function signOut(): Promise<IssuerLogout | null> {
  const asked = await ask(IssuerLogoutQuery, {}).catch(() => null)
  await ask(LogoutMutation, {}).catch(() => {})
  keepLanguage(accountKey, null)
  // A browser that fails to end its part must not keep anybody signed in.
  await Promise.all([forgetOthers(null), forgetPush().catch(() => {})])
  await deleteCookie()
  return asked?.issuerLogout ?? null
}

/** Exchanges the token for an HttpOnly cookie, which no script can read. @throws StowageError */
async function storeInCookie(token: string): Promise<void> {
  await stowage.request('/console/session', { method: 'POST', headers: { authorization: `Bearer ${token}` } })
  tabs.postMessage(null)
}

async function deleteCookie(): Promise<void> {
  await stowage.request('/console/session', { method: 'DELETE' })
  tabs.postMessage(null)
}

export function useSessionQuery() {
  return useQuery({
    queryKey: queryKeys.session,
    queryFn: async ({ client }) => {
      const session = await currentSession()
      const previous = client.getQueryData<Session | null>(queryKeys.session)
      // Data that one person has fetched must not be shown to the next one.
      if (previous && previous.viewer.user.id !== session?.viewer.user.id) {
        client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== queryKeys.session[0] })
      }
      await forgetOthers(session?.viewer.user.id ?? null, previous?.viewer.user.id)
      if (session) {
        keepLanguage(workspaceKey, session.workspace.language)
        if (keepLanguage(accountKey, session.viewer.user.language) && !previous) await reload()
      } else {
        // The next person may read another language.
        keepLanguage(accountKey, null)
      }
      return session
    },
    staleTime: 60_000,
  })
}

/** The session of the person who is signed in. `Shell` provides it to the pages inside. */
export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = use(SessionContext)
  if (!session) throw new Error('useSession needs a Shell around the page')
  return session
}

/** Returns what the person may do, so that pages can hide everything else. */
export function usePermissions() {
  const { scopes, providerAccess } = useSession().viewer
  const isAdmin = scopes.includes('admin')
  return {
    canRead: scopes.includes('read'),
    canWrite: scopes.includes('write'),
    isAdmin,
    /** True for an administrator with access to all storages, who may change the whole workspace. */
    isUnrestricted: isAdmin && providerAccess.all,
  }
}

/** Returns a function that drops everything that was fetched for the previous session. */
export function useClearCache() {
  const client = useQueryClient()
  return async () => {
    client.clear()
    await client.invalidateQueries()
  }
}
