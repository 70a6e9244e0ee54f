/** Passkeys of this browser. The server makes the options, and verifies the answers. */
import { texts } from '../texts/security.tsx'

/** Whether this browser can use passkeys. They need HTTPS, or `localhost`. */
export const hasPasskeys =
  typeof PublicKeyCredential !== 'undefined' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/** Asks the person for a passkey. Resolves with the answer in JSON. @throws Error if the person cancels */
export async function askForPasskey(options: unknown): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)
  return answerOf(navigator.credentials.get({ publicKey }))
}

/** Creates a passkey. Resolves with the answer in JSON. @throws Error if the person cancels */
export async function createPasskey(options: unknown): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON)
  return answerOf(navigator.credentials.create({ publicKey }))
}

async function answerOf(asking: Promise<Credential | null>): Promise<unknown> {
  const credential = await asking.catch((cause: unknown) => {
    // The browser does not say why, so that pages cannot learn which passkeys exist.
    throw new Error(causeOf(cause) === 'InvalidStateError' ? texts.passkeyKnown : texts.passkeyCanceled, { cause })
  })
  if (!(credential instanceof PublicKeyCredential)) throw new Error(texts.passkeyCanceled)
  return credential.toJSON()
}

const causeOf = (cause: unknown) => (cause instanceof DOMException ? cause.name : null)
