import type { OpenSession, SignedIn } from '../../services/people/accounts.ts'
import { builder } from '../builder.ts'
import { passwordCost } from '../cost.ts'
import { UserRef } from '../refs.ts'

const AuthPayload = builder.objectRef<SignedIn>('AuthPayload').implement({
  description: 'A session.',
  fields: t => ({
    token: t.exposeString('token', {
      description: 'A session JWT, to be sent as `Authorization: Bearer <token>`. Nobody can be shown it again.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the session ends by itself.' }),
    user: t.field({
      type: UserRef,
      description: 'Whose session it is.',
      authScopes: { public: true },
      resolve: async ({ member, token }, _args, { services, origin }) => ({
        member,
        seenBy: await services.credentials.authenticate(token, origin),
      }),
    }),
  }),
})

const Session = builder.objectRef<OpenSession>('Session').implement({
  description: 'Where somebody is signed in.',
  fields: t => ({
    id: t.exposeID('id', { description: 'Stays the same for good; not the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it began.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it ends by itself.' }),
    current: t.exposeBoolean('current', { description: 'Whether it is the one that this request came with.' }),
  }),
})

builder.queryField('sessions', t =>
  t.field({
    type: [Session],
    description: 'Your own that can still be used, the newest first, at most 200.',
    authScopes: { session: true },
    resolve: (_root, _args, { services, viewer }) => services.accounts.sessions(viewer),
  }),
)

const RegisterInput = builder.inputType('RegisterInput', {
  description: 'A new account.',
  fields: t => ({
    email: t.string({ required: true, description: 'One account for each; case makes no difference.' }),
    password: t.string({ required: true, description: '12 to 256 characters of any script.' }),
    name: t.string({ description: 'As people write it.' }),
    invite: t.string({ description: 'From `createInvite`; without one, the workspace must be open to registration.' }),
    setupCode: t.string({
      description:
        'For the first account, where `installation.needsSetupCode` says so: the code that the operator has set.',
    }),
  }),
})

const LoginInput = builder.inputType('LoginInput', {
  description: 'Who somebody is.',
  fields: t => ({
    email: t.string({ required: true, description: 'Of the account; case makes no difference.' }),
    password: t.string({ required: true, description: 'Of the account.' }),
  }),
})

const ChangePasswordInput = builder.inputType('ChangePasswordInput', {
  description: 'The old password and the new one.',
  fields: t => ({
    currentPassword: t.string({ required: true, description: 'As it is now.' }),
    newPassword: t.string({ required: true, description: '12 to 256 characters of any script.' }),
  }),
})

builder.mutationFields(t => ({
  register: t.field({
    type: AuthPayload,
    description:
      'Makes an account and signs in. The first person founds the workspace and owns it; later ones reach nothing until an administrator gives them a role.',
    audit: 'REGISTER',
    authScopes: { public: true },
    complexity: passwordCost,
    args: { input: t.arg({ type: RegisterInput, required: true, description: 'The new account.' }) },
    resolve: (_root, { input }, { services, origin, signal }) => services.accounts.register(input, origin, signal),
  }),
  login: t.field({
    type: AuthPayload,
    description: 'Signs in.',
    audit: 'LOGIN',
    authScopes: { public: true },
    complexity: passwordCost,
    args: { input: t.arg({ type: LoginInput, required: true, description: 'Who signs in.' }) },
    resolve: (_root, { input }, { services, origin, signal }) => services.accounts.login(input, origin, signal),
  }),
  logout: t.boolean({
    description: 'Ends the session of this request, at once and everywhere. True once it has ended.',
    audit: 'LOGOUT',
    authScopes: { session: true },
    resolve: async (_root, _args, { services, viewer }) => {
      await services.accounts.logout(viewer)
      return true
    },
  }),
  revokeSession: t.boolean({
    description: 'Ends one of your own sessions, at once and everywhere. True once it has ended.',
    audit: 'LOGOUT',
    authScopes: { session: true },
    args: { id: t.arg.id({ required: true, description: 'Of the session.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.accounts.revokeSession(viewer, id)
      return true
    },
  }),
  changePassword: t.field({
    type: AuthPayload,
    description: 'This session stays, all others of the person end.',
    audit: 'PASSWORD_CHANGE',
    authScopes: { session: true },
    complexity: passwordCost,
    args: { input: t.arg({ type: ChangePasswordInput, required: true, description: 'Both passwords.' }) },
    resolve: (_root, { input }, { services, viewer, signal }) =>
      services.accounts.changePassword(viewer, input, signal),
  }),
}))
