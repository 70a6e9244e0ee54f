import { graphql, type ResultOf } from '../../api/graphql.ts'

export const SecondFactorsQuery = graphql(`
  query SecondFactors {
    secondFactors {
      passkeys { id name isSynced createdAt lastUsedAt }
      totpAddedAt recoveryCodesLeft
    }
  }
`)

export type Passkey = ResultOf<typeof SecondFactorsQuery>['secondFactors']['passkeys'][number]

export const PasskeySetupQuery = graphql(`
  query PasskeySetup { passkeySetup }
`)

export const AddPasskeyMutation = graphql(`
  mutation AddPasskey($input: AddPasskeyInput!) {
    addPasskey(input: $input) { recoveryCodes }
  }
`)

export const RenamePasskeyMutation = graphql(`
  mutation RenamePasskey($id: ID!, $name: String!) {
    renamePasskey(id: $id, name: $name) { id }
  }
`)

export const RemovePasskeyMutation = graphql(`
  mutation RemovePasskey($id: ID!) {
    removePasskey(id: $id)
  }
`)

export const TotpSetupQuery = graphql(`
  query TotpSetup {
    totpSetup { secret uri ticket }
  }
`)

export const AddTotpMutation = graphql(`
  mutation AddTotp($input: AddTotpInput!) {
    addTotp(input: $input) { recoveryCodes }
  }
`)

export const RemoveTotpMutation = graphql(`
  mutation RemoveTotp { removeTotp }
`)

export const CreateRecoveryCodesMutation = graphql(`
  mutation CreateRecoveryCodes { createRecoveryCodes }
`)
