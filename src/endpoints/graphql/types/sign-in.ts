import { builder } from '../builder.ts'
import { AuthPayload } from './account.ts'

const CompleteLoginInput = builder.inputType('CompleteLoginInput', {
  description: 'The challenge of a sign-in, and one of its `methods`.',
  fields: t => ({
    challenge: t.string({
      required: true,
      description:
        'The `challenge` of the error SECOND_FACTOR_REQUIRED. It works once, for five minutes and five tries.',
    }),
    code: t.string({ description: 'The six digits that the authenticator app shows.' }),
    recoveryCode: t.string({ description: 'A recovery code.' }),
    passkey: t.field({
      type: 'JSON',
      description: 'What `navigator.credentials.get` has returned for the `passkeyOptions` of the error, in JSON.',
    }),
  }),
})

builder.queryField('passkeySignIn', t =>
  t.field({
    type: 'JSON',
    description:
      'Returns the options with which `navigator.credentials.get` asks for a passkey, to sign in without a password. They work once, for five minutes.',
    authScopes: { public: true },
    resolve: (_root, _args, { services, party }) => services.secondSteps.passkeyOptions(party),
  }),
)

builder.mutationFields(t => ({
  completeLogin: t.field({
    type: AuthPayload,
    description: 'Completes a sign-in with a second factor.',
    audit: 'LOGIN',
    authScopes: { public: true },
    args: { input: t.arg({ type: CompleteLoginInput, required: true, description: 'The challenge and one factor.' }) },
    resolve: (_root, { input }, { services, origin, party }) => services.secondSteps.complete(input, party, origin),
  }),
  signInWithPasskey: t.field({
    type: AuthPayload,
    description: 'Signs in with a passkey alone, without a second factor: the passkey has verified its user.',
    audit: 'LOGIN',
    authScopes: { public: true },
    args: {
      passkey: t.arg({
        type: 'JSON',
        required: true,
        description: 'What `navigator.credentials.get` has returned for `passkeySignIn`, in JSON.',
      }),
    },
    resolve: (_root, { passkey }, { services, origin, party }) => services.secondSteps.signIn(passkey, party, origin),
  }),
}))
