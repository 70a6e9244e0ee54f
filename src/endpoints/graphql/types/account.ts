import { languages } from '../../../lib/languages.ts'
import type { OpenSession, SignedIn } from '../../../services/people/accounts.ts'
import { builder } from '../builder.ts'
import { passwordCost } from '../cost.ts'
import { UserRef } from '../refs.ts'
import { FactorEnum } from './factor.ts'

export const AuthPayload = builder.objectRef<SignedIn>('AuthPayload').implement({
  description: 'A new session.',
  fields: t => ({
    token: t.exposeString('token', {
      description: 'The session JWT. Send it as `Authorization: Bearer <token>`. It is not shown again.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time at which the session expires.' }),
    user: t.field({
      type: UserRef,
      description: 'The person who signed in.',
      authScopes: { public: true },
      resolve: async ({ member, token }, _args, { services, origin }) => ({
        member,
        seenBy: await services.credentials.authenticate(token, origin),
      }),
    }),
  }),
})

const Session = builder.objectRef<OpenSession>('Session').implement({
  description: 'A session in which you are signed in.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the session. It is not the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of signing in.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time at which the session expires.' }),
    address: t.exposeString('address', {
      nullable: true,
      description: 'The IP address of the sign-in, or null if it is unknown.',
    }),
    userAgent: t.exposeString('userAgent', {
      nullable: true,
      description: 'The `User-Agent` of the sign-in, which names the browser. Null if it is unknown.',
    }),
    factors: t.expose('factors', {
      type: [FactorEnum],
      description: 'What the sign-in and later confirmations have proved it with.',
    }),
    current: t.exposeBoolean('current', { description: 'True for the session that this request uses.' }),
  }),
})

builder.queryField('sessions', t =>
  t.field({
    type: [Session],
    description: 'Returns your active sessions, newest first, at most 200.',
    authScopes: { session: true },
    resolve: (_root, _args, { services, viewer }) => services.accounts.sessions(viewer),
  }),
)

const RegisterInput = builder.inputType('RegisterInput', {
  description: 'A new account.',
  fields: t => ({
    email: t.string({
      required: true,
      description: 'The email address, which identifies one account. Case-insensitive.',
    }),
    password: t.string({ required: true, description: 'The password, with 12 to 256 characters of any script.' }),
    name: t.string({ description: 'The display name.' }),
    invite: t.string({ description: 'An invite from `createInvite`. Required unless registration is open.' }),
    setupCode: t.string({
      description:
        'The code that the operator has set. The first account requires it if `installation.needsSetupCode` is true.',
    }),
  }),
})

const LoginInput = builder.inputType('LoginInput', {
  description: 'The email address and password of an account.',
  fields: t => ({
    email: t.string({ required: true, description: 'The email address of the account. Case-insensitive.' }),
    password: t.string({ required: true, description: 'The password of the account.' }),
  }),
})

const ChangePasswordInput = builder.inputType('ChangePasswordInput', {
  description: 'The current password and the new one.',
  fields: t => ({
    currentPassword: t.string({ required: true, description: 'The current password.' }),
    newPassword: t.string({ required: true, description: 'The password, with 12 to 256 characters of any script.' }),
  }),
})

const UpdateProfileInput = builder.inputType('UpdateProfileInput', {
  description: 'Changes to your own account. Omitted fields do not change; at least one is required.',
  fields: t => ({
    name: t.string({ description: 'The new display name; null for none.' }),
    language: t.string({
      description: `The tag of the language of the console and of emails: ${languages.join(', ')}; null for that of the browser and the workspace.`,
    }),
    getsMentions: t.boolean({ description: 'Whether you get an email when a comment mentions you.' }),
  }),
})

const ResetPasswordInput = builder.inputType('ResetPasswordInput', {
  description: 'A token from `createPasswordReset` or an email, and the new password.',
  fields: t => ({
    token: t.string({ required: true, description: 'The token, which works once.' }),
    newPassword: t.string({ required: true, description: 'The password, with 12 to 256 characters of any script.' }),
  }),
})

builder.mutationFields(t => ({
  register: t.field({
    type: AuthPayload,
    description:
      'Creates an account and signs in. The first person to register owns the workspace. Others have the role of their invite; without one, they have no access until an administrator gives them a role.',
    audit: 'REGISTER',
    authScopes: { public: true },
    complexity: passwordCost,
    args: { input: t.arg({ type: RegisterInput, required: true, description: 'The new account.' }) },
    resolve: (_root, { input }, { services, origin, signal }) => services.registration.register(input, origin, signal),
  }),
  login: t.field({
    type: AuthPayload,
    description:
      'Signs in. An account with a second factor gets the error SECOND_FACTOR_REQUIRED, whose extensions have a `challenge` for `completeLogin`, the `methods` that the account has, and `passkeyOptions` for the browser if it has passkeys.',
    audit: 'LOGIN',
    authScopes: { public: true },
    complexity: passwordCost,
    args: { input: t.arg({ type: LoginInput, required: true, description: 'The email address and password.' }) },
    resolve: (_root, { input }, { services, origin, party, signal }) =>
      services.accounts.login(input, origin, party, signal),
  }),
  logout: t.boolean({
    description: 'Ends the session of this request immediately, on all servers. Returns true.',
    audit: 'LOGOUT',
    authScopes: { anySession: true },
    resolve: async (_root, _args, { services, viewer }) => {
      await services.accounts.logout(viewer)
      return true
    },
  }),
  revokeSession: t.boolean({
    description: 'Ends one of your own sessions immediately, on all servers. Returns true.',
    audit: 'LOGOUT',
    authScopes: { session: true },
    args: { id: t.arg.id({ required: true, description: 'The ID of the session.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.accounts.revokeSession(viewer, id)
      return true
    },
  }),
  changePassword: t.field({
    type: AuthPayload,
    description: 'Changes your password. All of your other sessions end.',
    audit: 'PASSWORD_CHANGE',
    authScopes: { session: true },
    complexity: passwordCost,
    args: {
      input: t.arg({ type: ChangePasswordInput, required: true, description: 'The current and the new password.' }),
    },
    resolve: (_root, { input }, { services, viewer, signal }) =>
      services.accounts.changePassword(viewer, input, signal),
  }),
  updateProfile: t.field({
    type: UserRef,
    description: 'Changes your own display name and language, and which emails you get.',
    audit: 'PROFILE_UPDATE',
    authScopes: { session: true },
    args: { input: t.arg({ type: UpdateProfileInput, required: true, description: 'The changes.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      member: await services.accounts.updateProfile(viewer, input),
      seenBy: viewer,
    }),
  }),
  requestPasswordReset: t.boolean({
    description:
      'Sends an email with a link for a new password to an address, if an account with a password has it. Requires `installation.sendsPasswordResets`. The link works once, within an hour. An address gets at most three emails in an hour. Returns true for every address.',
    audit: 'PASSWORD_RESET_REQUEST',
    authScopes: { public: true },
    args: { email: t.arg.string({ required: true, description: 'The email address of the account.' }) },
    resolve: async (_root, { email }, { services, origin }) => {
      await services.passwordResets.request({ email }, origin)
      return true
    },
  }),
  resetPassword: t.boolean({
    description:
      'Sets a new password with a token from `createPasswordReset` or an email. All sessions of the account end. Returns true.',
    audit: 'PASSWORD_RESET',
    authScopes: { public: true },
    complexity: passwordCost,
    args: { input: t.arg({ type: ResetPasswordInput, required: true, description: 'The token and the password.' }) },
    resolve: async (_root, { input }, { services, origin, signal }) => {
      await services.passwordResets.redeem(input, origin, signal)
      return true
    },
  }),
}))
