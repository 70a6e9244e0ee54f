import type { Factor } from '../../../auth/factors.ts'
import type { Passkey } from '../../../db/passkeys.ts'
import type { ConfirmationNeeds } from '../../../services/people/confirmation.ts'
import type { TotpSetup } from '../../../services/people/enrolment.ts'
import type { MemberFactors } from '../../../services/people/factor-checks.ts'
import { builder } from '../builder.ts'
import { passwordCost } from '../cost.ts'
import { UserRef } from '../refs.ts'

const factors: Record<Factor, { description: string }> = {
  PASSWORD: { description: 'The password of the account.' },
  TOTP: { description: 'A code of an authenticator app.' },
  RECOVERY_CODE: { description: 'A recovery code, each of which works once.' },
  PASSKEY: { description: 'A passkey, which has verified its user.' },
  ISSUER: { description: 'A sign-in at the issuer of single sign-on.' },
}

export const FactorEnum = builder.enumType('Factor', {
  description: 'The ways to prove who you are.',
  values: factors,
})

const PasskeyType = builder.objectRef<Passkey>('Passkey').implement({
  description: 'A passkey with which you can sign in.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the passkey.' }),
    name: t.exposeString('name', { description: 'The name that you have given it.' }),
    isSynced: t.exposeBoolean('isSynced', {
      description: 'Whether it was copied to other devices of yours when it was added.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time at which it was added.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of its last use, or null.',
    }),
  }),
})

const SecondFactors = builder.objectRef<MemberFactors>('SecondFactors').implement({
  description: 'The second factors of your account.',
  fields: t => ({
    passkeys: t.field({
      type: [PasskeyType],
      description: 'The passkeys, the oldest first, at most 20.',
      resolve: ({ passkeys }) => [...passkeys],
    }),
    totpAddedAt: t.expose('totpAddedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the authenticator app was added, or null without one.',
    }),
    recoveryCodesLeft: t.exposeInt('recoveryCodes', { description: 'The number of recovery codes that still work.' }),
  }),
})

const TotpSetupType = builder.objectRef<TotpSetup>('TotpSetup').implement({
  description: 'A secret for an authenticator app.',
  fields: t => ({
    secret: t.exposeString('secret', { description: 'The secret in base32, to type into the app.' }),
    uri: t.exposeString('uri', { description: 'The content of a QR code that the app scans.' }),
    ticket: t.exposeString('ticket', { description: 'The ticket for `addTotp`, which expires after 15 minutes.' }),
  }),
})

const Confirmation = builder.objectRef<ConfirmationNeeds>('Confirmation').implement({
  description: 'How you confirm who you are before sensitive changes.',
  fields: t => ({
    confirmedUntil: t.expose('confirmedUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when sensitive changes need no confirmation, or null if they need one now.',
    }),
    methods: t.field({
      type: [FactorEnum],
      description:
        'The factors that confirm it. For ISSUER, sign in again, at the issuer or with the password of the directory.',
      resolve: ({ methods }) => [...methods],
    }),
    issuers: t.field({
      type: ['ID'],
      description: 'The IDs of the issuers, as in `installation`, at which you can sign in again for ISSUER.',
      resolve: ({ issuerIds }) => [...issuerIds],
    }),
    passkeyOptions: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The options for `navigator.credentials.get`, or null without a passkey.',
      resolve: ({ passkeyOptions }) => passkeyOptions,
    }),
  }),
})

const AddFactorPayload = builder
  .objectRef<{ passkey: Passkey | null; recoveryCodes: readonly string[] }>('AddFactorPayload')
  .implement({
    description: 'A new second factor.',
    fields: t => ({
      passkey: t.field({
        type: PasskeyType,
        nullable: true,
        description: 'The passkey, or null for an authenticator app.',
        resolve: ({ passkey }) => passkey,
      }),
      recoveryCodes: t.stringList({
        description: 'Ten recovery codes, if you had none; otherwise none. They are not shown again.',
        resolve: ({ recoveryCodes }) => [...recoveryCodes],
      }),
    }),
  })

const code = { description: 'The six digits that the authenticator app shows.' } as const
const recoveryCode = { description: 'A recovery code.' } as const
const passkey = {
  type: 'JSON',
  description: 'What `navigator.credentials.get` has returned for `passkeyOptions`, in JSON.',
} as const

const ConfirmIdentityInput = builder.inputType('ConfirmIdentityInput', {
  description: 'One of the `methods` of `confirmation`.',
  fields: t => ({
    password: t.string({ description: 'The password, for an account without a second factor.' }),
    code: t.string(code),
    recoveryCode: t.string(recoveryCode),
    passkey: t.field(passkey),
  }),
})

const AddTotpInput = builder.inputType('AddTotpInput', {
  description: 'An authenticator app that has the secret of `totpSetup`.',
  fields: t => ({
    ticket: t.string({ required: true, description: 'The ticket of `totpSetup`.' }),
    code: t.string({ required: true, ...code }),
  }),
})

const AddPasskeyInput = builder.inputType('AddPasskeyInput', {
  description: 'A passkey that the browser has created.',
  fields: t => ({
    name: t.string({ required: true, description: 'A name by which you recognize it, with 1 to 200 characters.' }),
    passkey: t.field({
      type: 'JSON',
      required: true,
      description: 'What `navigator.credentials.create` has returned for `passkeySetup`, in JSON.',
    }),
  }),
})

builder.queryFields(t => ({
  secondFactors: t.field({
    type: SecondFactors,
    description: 'Returns the second factors of your account.',
    authScopes: { anySession: true },
    resolve: (_root, _args, { services, viewer }) => services.enrolment.list(viewer),
  }),
  totpSetup: t.field({
    type: TotpSetupType,
    description: 'Returns a new secret for your authenticator app. `addTotp` adds the app.',
    authScopes: { anySession: true },
    resolve: (_root, _args, { services, viewer }) => services.enrolment.setUpTotp(viewer),
  }),
  passkeySetup: t.field({
    type: 'JSON',
    description:
      'Returns the options with which `navigator.credentials.create` creates a passkey. They work once, for five minutes, in this session. `addPasskey` adds the passkey.',
    authScopes: { anySession: true },
    resolve: (_root, _args, { services, viewer, party }) => services.enrolment.creationOptions(viewer, party),
  }),
  confirmation: t.field({
    type: Confirmation,
    description: 'Returns how you confirm who you are before sensitive changes.',
    authScopes: { anySession: true },
    resolve: (_root, _args, { services, viewer, party }) => services.confirmation.needs(viewer, party),
  }),
}))

builder.mutationFields(t => ({
  confirmIdentity: t.boolean({
    description:
      'Confirms who you are, so that sensitive changes are possible in this session for ten minutes. Accounts with a second factor confirm with it, others with their password. Returns true.',
    audit: 'IDENTITY_CONFIRM',
    authScopes: { anySession: true },
    complexity: passwordCost,
    args: { input: t.arg({ type: ConfirmIdentityInput, required: true, description: 'One factor.' }) },
    resolve: async (_root, { input }, { services, viewer, party, signal }) => {
      await services.confirmation.confirm(viewer, input, party, signal)
      return true
    },
  }),
  addTotp: t.field({
    type: AddFactorPayload,
    description:
      'Adds your authenticator app, which replaces an earlier one. Signing in with a password then needs a code.',
    audit: 'FACTOR_ADD',
    authScopes: { anySession: true, recent: true },
    args: { input: t.arg({ type: AddTotpInput, required: true, description: 'The app.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      passkey: null,
      recoveryCodes: await services.enrolment.addTotp(viewer, input),
    }),
  }),
  removeTotp: t.boolean({
    description: 'Removes your authenticator app. Returns true.',
    audit: 'FACTOR_REMOVE',
    authScopes: { session: true, recent: true },
    resolve: async (_root, _args, { services, viewer }) => {
      await services.enrolment.removeTotp(viewer)
      return true
    },
  }),
  addPasskey: t.field({
    type: AddFactorPayload,
    description: 'Adds a passkey. Signing in with a password then needs a second factor.',
    audit: 'FACTOR_ADD',
    authScopes: { anySession: true, recent: true },
    args: { input: t.arg({ type: AddPasskeyInput, required: true, description: 'The passkey and its name.' }) },
    resolve: (_root, { input }, { services, viewer, party }) =>
      services.enrolment.addPasskey(viewer, { name: input.name, answer: input.passkey }, party),
  }),
  renamePasskey: t.field({
    type: PasskeyType,
    description: 'Renames one of your passkeys.',
    audit: 'FACTOR_UPDATE',
    authScopes: { session: true },
    args: {
      id: t.arg.id({ required: true, description: 'The ID of the passkey.' }),
      name: t.arg.string({ required: true, description: 'The new name, with 1 to 200 characters.' }),
    },
    resolve: (_root, { id, name }, { services, viewer }) => services.enrolment.renamePasskey(viewer, id, name),
  }),
  removePasskey: t.boolean({
    description: 'Removes one of your passkeys. Returns true.',
    audit: 'FACTOR_REMOVE',
    authScopes: { session: true, recent: true },
    args: { id: t.arg.id({ required: true, description: 'The ID of the passkey.' }) },
    resolve: async (_root, { id }, { services, viewer }) => {
      await services.enrolment.removePasskey(viewer, id)
      return true
    },
  }),
  createRecoveryCodes: t.stringList({
    description: 'Returns ten new recovery codes, which replace the earlier ones. They are not shown again.',
    audit: 'RECOVERY_CODES_CREATE',
    authScopes: { session: true, recent: true },
    resolve: (_root, _args, { services, viewer }) => services.enrolment.createRecoveryCodes(viewer),
  }),
  removeSecondFactors: t.field({
    type: UserRef,
    description:
      'Removes all second factors of another member, whose role is at most your own, and ends their sessions. It is for people who have lost their devices.',
    audit: 'FACTOR_REMOVE',
    authScopes: { session: true, workspace: 'admin', recent: true },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: async (_root, { userId }, { services, viewer }) => ({
      member: await services.enrolment.removeAll(viewer, userId),
      seenBy: viewer,
    }),
  }),
}))
